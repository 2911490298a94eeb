// Several real Redis masters that know nothing of each other, for tests of Redlock.
#pragma once

#include "test_support/servers/redis_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_servers {

// Not thread-safe.
class redlock_servers {
public:
    // Every write is on disk before it is answered, unless the options say otherwise.
    explicit redlock_servers(std::size_t count = 3) : redlock_servers{count, synced()} {}
    redlock_servers(std::size_t count, const redis_options& options) {
        for (std::size_t i = 0; i < count; ++i)
            servers_.push_back(std::make_unique<redis_server>(options));
    }

    std::size_t size() const noexcept { return servers_.size(); }
    redis_server& at(std::size_t which) const { return *servers_[which]; }

    // host:port,host:port,… as in a URL.
    std::string hosts() const {
        std::string all;
        for (const auto& one : servers_)
            all += (all.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(one->port()));
        return all;
    }
    std::vector<std::uint16_t> ports() const {
        std::vector<std::uint16_t> all;
        for (const auto& one : servers_) all.push_back(one->port());
        return all;
    }

    // Of all at once.
    void crash() const {
        for (const auto& one : servers_) one->crash();
    }
    void start() const {
        for (const auto& one : servers_) one->start();
    }
    void freeze() const {
        for (const auto& one : servers_) one->freeze();
    }
    void thaw() const {
        for (const auto& one : servers_) one->thaw();
    }
    void restart() const {
        for (const auto& one : servers_) one->restart();
    }
    void lose_data() const {
        for (const auto& one : servers_) one->lose_data();
    }

    static redis_options synced() {
        redis_options options;
        options.persistence = redis_persistence::append_synced;
        return options;
    }

private:
    std::vector<std::unique_ptr<redis_server>> servers_;
};

}  // namespace pawl::testing_servers
