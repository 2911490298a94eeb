// A real master with its replicas and three sentinels, for tests.
#pragma once

#include "test_support/servers/process.hpp"
#include "test_support/servers/redis_server.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_servers {

struct redis_sentinels_options {
    std::size_t replicas = 1;
    redis_persistence persistence = redis_persistence::none;
    std::chrono::milliseconds down_after{500};  // silence, until the first sentinel acts
    std::string password{};                     // of the servers
    std::string sentinel_password{};            // of the sentinels
    std::vector<std::string> more{};            // lines of redis.conf of every server
};

// Takes about two seconds to be ready. Not thread-safe.
class redis_sentinels {
public:
    static constexpr const char* master_name = "orders";

    explicit redis_sentinels(redis_sentinels_options options = {});

    // The servers, the first master first.
    redis_server& node(std::size_t which) { return *nodes_.at(which); }
    std::size_t size() const noexcept { return nodes_.size(); }
    const std::vector<std::uint16_t>& ports() const noexcept { return ports_; }
    // Such as 127.0.0.1:7001,127.0.0.1:7002.
    std::string hosts() const;

    // Which server the sentinels name now.
    std::size_t master() const;
    // Returns when all sentinels name another master than `old`, and it says so itself.
    std::size_t wait_until_moved_from(std::size_t old);
    // Orders a failover in good order, and returns when it is done.
    void fail_over();
    // Returns when all sentinels agree that they could fail over and see every replica.
    void wait_until_ready() const;

    void freeze_sentinel(std::size_t which) const;
    void thaw_sentinel(std::size_t which) const;

    // Returns when the replicas of a master have acknowledged all that it has written.
    void wait_until_followed(std::size_t here);

    void restart();    // the server that is master now, in good order
    void lose_data();  // killed, wiped, started; its replicas follow

private:
    void start_sentinel(std::uint16_t port, const redis_sentinels_options& options);
    void wait_until_ready_to_answer(std::uint16_t port, const std::filesystem::path& log) const;
    std::string ask_sentinel(std::size_t which, const std::vector<std::string>& words) const;

    const redis_sentinels_options options_;
    std::string user_;
    temporary_folder folder_;
    std::vector<std::unique_ptr<redis_server>> nodes_;
    std::vector<std::uint16_t> ports_;
    std::vector<process> sentinels_;
};

}  // namespace pawl::testing_servers
