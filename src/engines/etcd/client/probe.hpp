// The first request to a node: its identity, version and clock.
//
// Beside gRPC, etcd answers HTTP/1.1 on the same port: GET /version needs no login, and the Date of
// the answer is the only clock that etcd shows. What is wrong with an address, a certificate or the
// server behind it is found here, in words; gRPC would only say that it cannot connect.
#pragma once

#include "engines/etcd/client/etcd_settings.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::etcd {

using micros = std::chrono::microseconds;

// The wall clock of a node, read by its Date, which has whole seconds: it lies between the two.
class clock_reading {
public:
    // The Date of an answer that was asked for at `sent` and was there at `received`.
    clock_reading(std::chrono::seconds date, instant sent, instant received);

    // Since the Unix epoch.
    micros earliest(instant now) const noexcept;
    micros latest(instant now) const noexcept;
    // Our own wall clock where it agrees with the reading, else what comes next to it. For what
    // people read and for where tokens begin; nothing is decided by it.
    micros likely(instant now) const noexcept;
    instant taken() const noexcept { return received_; }

private:
    micros date_;
    instant sent_;
    instant received_;
};

// No two readings of one clock lie further apart; slower answers count as if they were not.
constexpr micros reading_width_max{1'200'000};

struct node_facts {
    std::string version;  // such as 3.4.23
    std::string address;  // where the name led to
    clock_reading clock;
    std::optional<finding> tls;
};

// Ends by the deadline. Details begin with the place. To the address where one is known already,
// without a look-up.
async<node_facts> probe(net::loop::executor_type executor, base::endpoint where,
                        const etcd_settings& settings, instant deadline, std::string address = {});

// This machine's own clock, for where no node's can be read.
clock_reading read_own_clock();

// Details begin with the place. Nothing: it is new enough.
std::optional<failure> reject_old(const std::string& place, std::string_view version);

// What GET /version answered, as far as it matters. Exposed for its test.
struct version_answer {
    std::string version;
    std::chrono::seconds date;
};
// Empty: no answer of an etcd.
std::optional<version_answer> parse_version_answer(std::string_view text);

}  // namespace pawl::etcd
