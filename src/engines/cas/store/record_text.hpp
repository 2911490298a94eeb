// What the core writes into a medium: each record is one line of text, which operators can read.
//
//     1 lease nonce=9f3a.0 holder=7 last=7 until=… term=30000 acquired=… wall=… used=… done=- id=…
//     owner=…
//
// The first word is the layout. Every write carries a fresh nonce: some media name a state by a
// digest of its content, and then two states of the same content could not be told apart.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/spi/rules.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace pawl::cas {

using micros = std::chrono::microseconds;

// The layout that this pawl writes.
constexpr int layout_version = 1;

// The longest lease or cooldown that a record may tell of.
constexpr millis term_max = std::chrono::hours{24 * 3650};

// One key. All times are microseconds of the store's clock since the Unix epoch.
struct lease_record {
    // `acquired` and `until` are upper bounds on the store's clock, `acquired_wall` a lower one.
    // 0 as `until`: free. Without any grant `last_token` is 0.
    rules::lease_record state{};

    // How long the lease or the cooldown was to last when this was written: who has seen the record
    // unchanged for longer knows that it is over. 0: it was over.
    millis term{0};

    // When this was written.
    micros used{0};

    // 1 to 64 bytes of [0-9a-z.].
    std::string nonce{};
};

// One fenced resource.
struct fence_record {
    fence_token newest{};
    std::string nonce{};
};

// One namespace: since when its data has been whole.
struct marker_record {
    micros born{0};

    // The highest token of the records that were purged: new keys start above it.
    fence_token floor{};

    // What medium::prepare() said when it was made. Empty: nothing.
    std::string identity{};

    // The rounds of the self-race that the medium has passed.
    int rounds = 0;

    std::string nonce{};
};

std::string encode(const lease_record& record);
std::string encode(const fence_record& record);
std::string encode(const marker_record& record);

// Failures: `unsupported` for the layout of a newer pawl, `rejected` for what no pawl has written.
// The detail names neither the place nor the key.
result<lease_record> parse_lease(std::string_view text);
result<fence_record> parse_fence(std::string_view text);
result<marker_record> parse_marker(std::string_view text);

// Why a text is not what it should be, such as "lease record of pawl's".
failure no_record(std::string_view text, const std::string& what);

// Of any record, without a look at the rest; empty where there is none.
std::string_view nonce_of(std::string_view text);

}  // namespace pawl::cas
