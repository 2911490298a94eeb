// What the znode of a key holds: one line of text that people can read with zkCli.sh.
//
//     1 LEASE TOKEN ACQUIRED LINGERS_UNTIL LAST_TOKEN LAST_DONE CLAIM_ID OWNER
//
// A '=' stands for what the write itself decides: a grant does not know its own zxid and time
// beforehand, so TOKEN and LAST_TOKEN are then read off the znode's mzxid and ACQUIRED off its
// mtime.
#pragma once

#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::zookeeper {

struct lease_record {
    std::string lease;             // name of the ephemeral child; empty: nobody holds the key
    fence_token token{};           // the holder's
    std::int64_t acquired{};       // Unix milliseconds on the leader's clock
    std::int64_t lingers_until{};  // held by nobody until then; 0: not so
    fence_token last_token{};      // 0: never granted, only a claim was withdrawn
    std::optional<occurrence> last_done{};
    std::string claim_id;
    std::string owner;
};

std::string text_of(const lease_record& record);
// The same as the write of a grant: token, last_token and acquired are the write's own.
std::string text_of_grant(const lease_record& record);

// Empty: nobody writes such a record. `token` and `millis` are what '=' stands for.
std::optional<lease_record> parse_record(std::string_view text, fence_token token,
                                         std::int64_t millis);

}  // namespace pawl::zookeeper
