// Ten thousand clients that have been answered once and say nothing more: what they cost, and that
// no other client notices them.
#include "http/http_fixture.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace pawl::http {
namespace {

constexpr int wanted = 10'000;
// What the server's process needs beside them.
constexpr int beside = 1'000;

std::size_t resident_bytes() {
    std::ifstream numbers{"/proc/self/statm"};
    std::size_t size = 0, resident = 0;
    numbers >> size >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// As many descriptors as the hard limit gives, for this test and its children.
class many_descriptors {
public:
    many_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit now{before_.rlim_max, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    ~many_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    many_descriptors(const many_descriptors&) = delete;
    many_descriptors& operator=(const many_descriptors&) = delete;
    // Fewer than wanted where the hard limit is lower.
    int connections() const {
        return static_cast<int>(std::min<rlim_t>(
            wanted, before_.rlim_max - std::min<rlim_t>(beside, before_.rlim_max / 2)));
    }

private:
    rlimit before_{};
};

// A process of its own, because its ends of the connections take descriptors as well. It asks once
// on each connection, says so by a byte, and keeps them until the other end of the pipe is closed.
class idle_clients {
public:
    idle_clients(std::uint16_t port, int count) {
        int ready[2], over[2];
        if (::pipe(ready) != 0 || ::pipe(over) != 0) return;
        child_ = ::fork();
        if (child_ == 0) {
            ::close(over[1]);
            connect_all(port, count);
            [[maybe_unused]] const auto told = ::write(ready[1], "y", 1);
            char end = 0;
            [[maybe_unused]] const auto ended = ::read(over[0], &end, 1);
            ::_exit(0);
        }
        ::close(ready[1]);
        ::close(over[0]);
        over_ = over[1];
        char told = 0;
        is_there_ = ::read(ready[0], &told, 1) == 1;
        ::close(ready[0]);
    }
    ~idle_clients() {
        ::close(over_);
        ::waitpid(child_, nullptr, 0);
    }
    idle_clients(const idle_clients&) = delete;
    idle_clients& operator=(const idle_clients&) = delete;
    bool is_there() const noexcept { return is_there_; }

private:
    // After a fork only system calls are safe.
    static void connect_all(std::uint16_t port, int count) {
        constexpr std::string_view question = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(port);
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (int i = 0; i < count; ++i) {
            const int one = ::socket(AF_INET, SOCK_STREAM, 0);
            if (one < 0 || ::connect(one, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0 ||
                ::write(one, question.data(), question.size()) < 0)
                ::_exit(1);
            char answer[512];
            if (::read(one, answer, sizeof answer) <= 0) ::_exit(1);
        }
    }

    pid_t child_ = -1;
    int over_ = -1;
    bool is_there_ = false;
};

// What both sides work for it: how long they wait is up to whatever else runs on the machine.
double millis_of_a_request(raw_client& client) {
    constexpr int requests = 500;
    const auto work = [] {
        timespec now{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return 1e3 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e6;
    };
    const auto before = work();
    for (int i = 0; i < requests; ++i) EXPECT_EQ(client.ask(get("/")).status, 200U);
    return (work() - before) / requests;
}

TEST(Idle, TenThousandConnectionsCostLittleAndDisturbNoRequest) {
    const many_descriptors many;
    const auto count = many.connections();
    RecordProperty("connections", count);
    limits bounds;
    bounds.connections_per_address_max = bounds.connections_max;
    trial_server server{echo, bounds};
    const auto port = server.listen();
    // Whatever is made once is there already.
    raw_client only{port};
    EXPECT_EQ(only.ask(get("/")).status, 200U);
    const double alone = millis_of_a_request(only);
    only.close();
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
    const auto before = resident_bytes();
    {
        const idle_clients clients{port, count};
        ASSERT_TRUE(clients.is_there());
        EXPECT_EQ(server.counts().connections, static_cast<std::uint64_t>(count));
        const auto each = (resident_bytes() - before) / static_cast<std::size_t>(count);
        RecordProperty("bytes_each", static_cast<int>(each));
        std::printf("%d idle connections: %zu bytes each\n", count, each);
#ifndef PAWL_SANITIZED
        EXPECT_LT(each, 8U * 1024);
#endif
        // Others are answered as if they were not there.
        raw_client other{port};
        const double crowded = millis_of_a_request(other);
        RecordProperty("micros_of_a_request", static_cast<int>(1'000 * crowded));
        EXPECT_LT(crowded, 3 * alone + 1.0);
    }
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
}

}  // namespace
}  // namespace pawl::http
