#include "net/look_up.hpp"

#include "net/byte_stream.hpp"

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <dlfcn.h>
#include <netdb.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

namespace {

// The names that end in .test: all are 127.0.0.1, and hung.test only when it is let go.
class known_names {
public:
    static known_names& instance() {
        static known_names all;
        return all;
    }
    void look_up(const std::string& name) {
        std::unique_lock lock{mutex_};
        ++asked_[name];
        changed_.notify_all();
        changed_.wait(lock, [&] { return name != "hung.test" || !hangs_; });
    }
    void hang(bool now) {
        const std::lock_guard lock{mutex_};
        hangs_ = now;
        changed_.notify_all();
    }
    int asked(const std::string& name) {
        const std::lock_guard lock{mutex_};
        return asked_[name];
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, int> asked_;
    bool hangs_ = false;
};

}  // namespace

// Stands before the system's.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    static auto* const real =
        reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
    const std::string asked = name == nullptr ? "" : name;
    if (!asked.ends_with(".test")) return real(name, service, hints, found);
    known_names::instance().look_up(asked);
    return real("127.0.0.1", service, hints, found);
}

namespace pawl::net {
namespace {

using namespace std::chrono_literals;

struct LookUp : testing::Test {
    LookUp() { known_names::instance().hang(true); }
    // The loop ends when the look-up does.
    ~LookUp() override { known_names::instance().hang(false); }

    loop where;
};

// Goal: requests that time out leave nothing behind in the queue of the one resolver. Method: a
// name that hangs is asked for again and again.
TEST_F(LookUp, ANameThatHangsIsAskedForOnceAndEachWaitEndsAtItsDeadline) {
    const auto before = known_names::instance().asked("hung.test");
    for (int i = 0; i < 5; ++i) {
        const auto found =
            where.wait_for(look_up(where.get_executor(), "hung.test", lease_clock::now() + 20ms));
        ASSERT_TRUE(found.has_error());
        EXPECT_EQ(found.error().code, errc::unreachable);
    }
    EXPECT_EQ(known_names::instance().asked("hung.test"), before + 1);
    known_names::instance().hang(false);
    const auto found =
        where.wait_for(look_up(where.get_executor(), "hung.test", lease_clock::now() + 10s));
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->front().to_string(), "127.0.0.1");
}

TEST_F(LookUp, AnAddressIsItsOwnAndANameWithANulIsNone) {
    const auto deadline = lease_clock::now() + 10s;
    const auto own = where.wait_for(look_up(where.get_executor(), "::1", deadline));
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(own->front().to_string(), "::1");
    for (const auto& name : {std::string{"a.test\0b", 8}, std::string{"::1\0b", 5}}) {
        const auto none = where.wait_for(look_up(where.get_executor(), name, deadline));
        ASSERT_TRUE(none.has_error());
        EXPECT_EQ(none.error().code, errc::protocol);
    }
}

TEST_F(LookUp, AStreamThatIsClosedWaitsForItsNameNoMore) {
    const auto stream = std::make_shared<byte_stream>(where.get_executor());
    const auto connect = [](std::shared_ptr<byte_stream> over) -> async<void> {
        auto connecting = over->connect_tcp("hung.test", 1);
        boost::asio::post(co_await boost::asio::this_coro::executor, [over] { over->close(); });
        co_return co_await std::move(connecting);
    };
    const auto connected = where.wait_for(connect(stream));
    ASSERT_TRUE(connected.has_error());
    EXPECT_EQ(connected.error().code, errc::unreachable);
}

}  // namespace
}  // namespace pawl::net
