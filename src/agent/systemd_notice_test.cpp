#include "agent/systemd_notice.hpp"

#include "time/clocks.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace pawl::agent {
namespace {

using namespace std::chrono_literals;

// Set for as long as it lives.
class variable {
public:
    variable(const char* name, const std::string& value) : name_{name} {
        setenv(name, value.c_str(), 1);
    }
    ~variable() { unsetenv(name_); }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;

private:
    const char* name_;
};

// What systemd has at its end: a datagram socket that NOTIFY_SOCKET names.
class manager {
public:
    explicit manager(std::string written)
        : socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)},
          named_{"NOTIFY_SOCKET", written} {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, written.data(), written.size());
        if (written[0] == '@') address.sun_path[0] = '\0';
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + written.size());
        if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) != 0)
            throw std::runtime_error{std::strerror(errno)};
    }
    ~manager() { ::close(socket_); }
    manager(const manager&) = delete;
    manager& operator=(const manager&) = delete;

    // The next notice; empty when none comes.
    std::string hear(millis timeout = 10s) const {
        pollfd one{};
        one.fd = socket_;
        one.events = POLLIN;
        if (poll(&one, 1, static_cast<int>(timeout.count())) != 1) return {};
        std::array<char, 4096> text{};
        const auto size = ::recv(socket_, text.data(), text.size(), 0);
        return {text.data(), static_cast<std::size_t>(size)};
    }

private:
    int socket_;
    variable named_;
};

std::string abstract_name() { return "@pawl-notice-test-" + std::to_string(getpid()); }

TEST(SystemdNotice, SaysWhatHappensToTheAgent) {
    const manager systemd{abstract_name()};
    const systemd_notice notice;
    ASSERT_TRUE(notice.is_heard());
    EXPECT_TRUE(notice.ready("60 jobs"));
    EXPECT_EQ(systemd.hear(), "READY=1\nSTATUS=60 jobs");
    EXPECT_TRUE(notice.reloading(std::chrono::microseconds{1'234'567}));
    EXPECT_EQ(systemd.hear(), "RELOADING=1\nMONOTONIC_USEC=1234567");
    EXPECT_TRUE(notice.status("3 runs"));
    EXPECT_EQ(systemd.hear(), "STATUS=3 runs");
    EXPECT_TRUE(notice.takes_longer(30s));
    EXPECT_EQ(systemd.hear(), "EXTEND_TIMEOUT_USEC=30000000");
    EXPECT_TRUE(notice.stopping("3 runs may finish"));
    EXPECT_EQ(systemd.hear(), "STOPPING=1\nSTATUS=3 runs may finish");
}

TEST(SystemdNotice, SpeaksToASocketInTheFileSystem) {
    std::string pattern = std::filesystem::temp_directory_path() / "pawl-notice-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    {
        const manager systemd{pattern + "/notify"};
        EXPECT_TRUE(systemd_notice{}.alive());
        EXPECT_EQ(systemd.hear(), "WATCHDOG=1");
    }
    std::filesystem::remove_all(pattern);
}

// A job's name, or whatever else is in a status, cannot say READY=1.
TEST(SystemdNotice, AStatusIsOneLine) {
    const manager systemd{abstract_name()};
    const systemd_notice notice;
    EXPECT_TRUE(notice.status("a\nREADY=1"));
    EXPECT_EQ(systemd.hear(), "STATUS=a?READY=1");
    EXPECT_TRUE(notice.status(std::string(10'000, 'x')));
    EXPECT_EQ(systemd.hear().size(), std::strlen("STATUS=") + status_bytes_max);
}

TEST(SystemdNotice, WithoutAManagerNothingHappens) {
    unsetenv("NOTIFY_SOCKET");
    EXPECT_FALSE(systemd_notice{}.is_heard());
    EXPECT_FALSE(systemd_notice{}.ready(""));
    for (const std::string written :
         {"", "/", "relative", "vsock:2:1", "@", "/nonexistent/notify"}) {
        const variable named{"NOTIFY_SOCKET", written};
        EXPECT_FALSE(systemd_notice{}.ready("")) << written;
    }
    const variable named{"NOTIFY_SOCKET", "/" + std::string(200, 'x')};
    EXPECT_FALSE(systemd_notice{}.is_heard());
}

// The loop goes on though systemd does not read.
TEST(SystemdNotice, AManagerThatDoesNotReadCostsLittle) {
    const manager systemd{abstract_name()};
    const systemd_notice notice;
    const auto before = time::monotonic_now();
    int sent = 0;
    while (sent < 100'000 && notice.alive()) ++sent;
    EXPECT_LT(sent, 100'000);
    EXPECT_LT(time::monotonic_now() - before, 10s);
}

TEST(SystemdNotice, TheWatchdogIsFedTwiceInItsTime) {
    const variable limit{"WATCHDOG_USEC", "3000000"};
    EXPECT_EQ(systemd_notice{}.watchdog_period(), 1500ms);
    const variable us{"WATCHDOG_PID", std::to_string(getpid())};
    EXPECT_EQ(systemd_notice{}.watchdog_period(), 1500ms);
    const variable other{"WATCHDOG_PID", "1"};
    EXPECT_FALSE(systemd_notice{}.watchdog_period());
}

TEST(SystemdNotice, AWatchdogThatMakesNoSenseIsNone) {
    EXPECT_FALSE(systemd_notice{}.watchdog_period());
    for (const char* text : {"", "x", "-1", "0", "5s", "99999999999999999999"}) {
        const variable limit{"WATCHDOG_USEC", text};
        EXPECT_FALSE(systemd_notice{}.watchdog_period()) << text;
    }
}

TEST(SystemdNotice, TheLoopItselfFeedsTheWatchdog) {
    const manager systemd{abstract_name()};
    const variable limit{"WATCHDOG_USEC", "20000"};
    net::loop where;
    const net::loop::attention watched{where};
    const auto notice = std::make_shared<const systemd_notice>();
    boost::asio::co_spawn(where.get_executor(), systemd_notice::keep_alive(notice, where),
                          boost::asio::detached);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(systemd.hear(), "WATCHDOG=1");
}

TEST(SystemdNotice, WithoutAWatchdogThereIsNothingToFeed) {
    net::loop where;
    const auto notice = std::make_shared<const systemd_notice>();
    const auto fed = [](std::shared_ptr<const systemd_notice> self,
                        net::loop& on) -> boost::asio::awaitable<int> {
        auto feeding = systemd_notice::keep_alive(self, on);
        co_await std::move(feeding);
        co_return 1;
    };
    auto all = fed(notice, where);
    EXPECT_EQ(where.wait_for(std::move(all)), 1);
}

// What `check` returns in a process of its own, in which `count` descriptors from 3 on are open,
// as systemd would leave sockets there.
template <class Child>
int in_a_child(int count, Child check) {
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < count; ++i) dup2(0, 3 + i);
        _exit(check());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SystemdNotice, TakesTheSocketsThatAreMeantForThisProcess) {
    const auto check = [] {
        setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
        setenv("LISTEN_FDS", "2", 1);
        setenv("LISTEN_FDNAMES", "api:", 1);
        const auto all = take_inherited_sockets();
        if (all.size() != 2 || all[0].descriptor != 3 || all[1].descriptor != 4) return 1;
        if (all[0].name != "api" || all[1].name != "unknown") return 2;
        if ((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0) return 3;
        if (std::getenv("LISTEN_FDS") != nullptr || std::getenv("LISTEN_PID") != nullptr) return 4;
        return take_inherited_sockets().empty() ? 0 : 5;
    };
    EXPECT_EQ(in_a_child(2, check), 0);
}

TEST(SystemdNotice, SaysWhereAnInheritedSocketListens) {
    const int four = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    ASSERT_EQ(bind(four, reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    const auto place = place_of({four, "api"});
    ASSERT_TRUE(place);
    EXPECT_EQ(place->host, "0.0.0.0");
    EXPECT_GT(place->port, 0);
    const int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_FALSE(place_of({local, "api"}));
    close(local);
    close(four);
    EXPECT_FALSE(place_of({four, "api"}));
}

TEST(SystemdNotice, LeavesTheSocketsOfOthersAlone) {
    const auto check = [] {
        setenv("LISTEN_FDS", "1", 1);
        setenv("LISTEN_PID", "1", 1);
        if (!take_inherited_sockets().empty()) return 1;
        setenv("LISTEN_FDS", "x", 1);
        setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
        if (!take_inherited_sockets().empty()) return 2;
        setenv("LISTEN_FDS", "-3", 1);
        setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
        return take_inherited_sockets().empty() ? 0 : 3;
    };
    EXPECT_EQ(in_a_child(1, check), 0);
}

}  // namespace
}  // namespace pawl::agent
