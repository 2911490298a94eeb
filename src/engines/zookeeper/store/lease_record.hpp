// What the znode of a key holds: one line of text that people can read with zkCli.sh.
//
//     2 LEASE TOKEN ACQUIRED LINGERS_UNTIL LAST_TOKEN LAST_DONE CLAIM_ID OWNER
//
// A '=' stands for what the write itself decides: a grant does not know its own time beforehand, so
// ACQUIRED is then read off the znode's mtime, and TOKEN is the later of LAST_TOKEN + 1 and that
// time in microseconds. In layout 1 it was read off the mzxid, which a backup brings back.
#pragma once

#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::zookeeper {

struct lease_record {
    std::string lease;              // name of the ephemeral child; empty: the key has no holder
    fence_token token{};            // the holder's
    std::int64_t acquired{};        // Unix milliseconds on the leader's clock
    std::int64_t cooldown_until{};  // has no holder until then; 0: not so
    fence_token last_token{};       // 0: never granted, only a claim was withdrawn
    std::optional<occurrence> last_done{};
    std::string claim_id;
    std::string owner;
};

std::string text_of(const lease_record& record);
// The same as the write of a grant: token and acquired are the write's own, and `last_token` is no
// lower than any token before.
std::string text_of_grant(const lease_record& record);

// What is known of the write of a record, for what '=' stands for.
struct write_stamp {
    fence_token by_zxid{};    // the token of layout 1
    std::int64_t millis = 0;  // Unix milliseconds on the leader's clock
};

// Empty: pawl writes no such record.
std::optional<lease_record> parse_record(std::string_view text, const write_stamp& written);

// Rule 1.
fence_token mint(fence_token last, std::int64_t millis);

}  // namespace pawl::zookeeper
