// The routes of leases and fences before a test, without the server.
#pragma once

#include "api/locks/lease_routes.hpp"
#include "documents/documents.hpp"
#include "test_support/faults/api_world.hpp"
#include "time/clocks.hpp"

#include <chrono>
#include <cstdint>
#include <future>
#include <stop_token>
#include <string>
#include <utility>

namespace pawl::api {

inline std::string occurrence_text(millis from_now) {
    const auto now = std::chrono::floor<millis>(time::wall_now()).time_since_epoch();
    return documents::time_text((now + from_now).count());
}

struct lease_world : api_world {
    explicit lease_world(api_store where = {}) : api_world{lease_routes, std::move(where)} {}

    http::response acquire(const std::string& body) {
        return ask({"POST", "/api/v1/leases", body});
    }
    std::future<http::response> begin_to_acquire(const std::string& body,
                                                 std::stop_token gone = {}) {
        asked what{"POST", "/api/v1/leases", body};
        what.gone = std::move(gone);
        return begin(what);
    }
    http::response release(const http::response& lease) {
        return ask({"DELETE", field_in(lease, "Location")});
    }
    bool is_free(const std::string& key) {
        const auto seen = inspect(key);
        return !seen || seen->remaining.count() == 0;
    }
    // Until so many requests stand in line, for a bounded time.
    bool waits(const std::string& key, std::uint32_t count) {
        const auto until = lease_clock::now() + std::chrono::seconds{10};
        while (lease_clock::now() < until)
            if (const auto seen = inspect(key); seen && seen->waiters.value_or(0) == count)
                return true;
        return false;
    }
};

}  // namespace pawl::api
