// What the routes of the API work with.
//
// The API has a loop, a store and a journal of its own, beside the scheduler's, so that two
// thousand requests a second queue behind each other and not in front of a heartbeat. Only memory:,
// which exists once, is shared with the agent, and then its loop is as well.
#pragma once

#include "health/doctor.hpp"
#include "metrics/instruments.hpp"
#include "runtime/core.hpp"
#include "schedule/dispatcher.hpp"

#include <pawl/spi/journal.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::api {

// The agent, as it stands at one moment.
struct node_state {
    bool ready = false;
    bool knows_pauses = true;  // until it does, no schedule fires
    bool draining = false;
    std::size_t running = 0;
    std::size_t running_max = 0;
    std::size_t jobs = 0;
    std::vector<std::pair<std::string, std::int64_t>> next_occurrences;  // Unix milliseconds
};

// Why the node takes no runs; empty when it does, as far as the node itself knows.
std::string unready(const node_state& seen);

// The agent that serves the API. May be asked from any executor; answers there.
class node_view {
public:
    virtual ~node_view() = default;
    // Nothing when its loop does not answer within `timeout`.
    virtual boost::asio::awaitable<std::optional<node_state>> look(millis timeout) = 0;
};

// What routes remember between two requests: see route_caches.hpp.
struct route_caches;
std::shared_ptr<route_caches> make_route_caches();

// All outlive the server.
struct context {
    runtime::core* core = nullptr;       // everything here runs on its loop
    std::shared_ptr<journal> records{};  // on that loop
    std::shared_ptr<node_view> node{};
    std::shared_ptr<metrics::instruments> instruments{};
    std::string node_name{};
    std::string version{};
    std::string store_shown{};  // without its secret
    std::string engine{};
    std::function<void(log_level, std::string_view)> log{};
    // What `pawl doctor` finds. Blocks for seconds, on a thread of its own; throws store_error.
    std::function<health::diagnosis()> diagnose{};
    std::shared_ptr<route_caches> remembered = make_route_caches();
};
using shared_context = std::shared_ptr<const context>;

// Appends to the audit what a caller did through the API. What was done is done: a journal that
// fails is told in the log. False then.
boost::asio::awaitable<bool> audit(shared_context around, std::string actor, std::string action,
                                   std::string target, std::string detail);

// Appends what may be done over and over: of each user and action so many a minute, and how many
// more there were when the minute is over; of leases of reserved keys all. Waits for nothing. On
// the loop.
void audit_often(const shared_context& around, std::string actor, std::string action,
                 std::string target, std::string detail);

}  // namespace pawl::api
