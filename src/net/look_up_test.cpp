#include "net/look_up.hpp"

#include "net/byte_stream.hpp"
#include "test_support/faults/known_names.hpp"

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <optional>
#include <string>
#include <vector>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using testing_faults::known_names;

struct LookUp : testing::Test {
    LookUp() {
        for (const auto* name : {"well.test", "hung.test"}) names.set(name, "127.0.0.1");
        names.hang("hung.test");
    }
    ~LookUp() override { names.go_on(); }

    result<std::vector<boost::asio::ip::address>> find(const std::string& name,
                                                       std::chrono::nanoseconds within) {
        return where->wait_for(look_up(where->get_executor(), name, lease_clock::now() + within));
    }

    known_names& names = known_names::instance();
    std::optional<loop> where{std::in_place};
};

// Goal: requests that time out leave no further question behind. Method: a name that hangs is asked
// for again and again.
TEST_F(LookUp, ANameThatHangsIsAskedForOnceAndEachWaitEndsAtItsDeadline) {
    const auto before = names.asked("hung.test");
    for (int i = 0; i < 5; ++i) {
        const auto found = find("hung.test", 20ms);
        ASSERT_TRUE(found.has_error());
        EXPECT_EQ(found.error().code, errc::unreachable);
    }
    ASSERT_TRUE(names.wait_for_question("hung.test"));
    EXPECT_EQ(names.asked("hung.test"), before + 1);
    names.go_on();
    const auto found = find("hung.test", 10s);
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->front().to_string(), "127.0.0.1");
}

TEST_F(LookUp, ANameThatHangsDelaysNoOther) {
    ASSERT_TRUE(find("hung.test", 1ms).has_error());
    const auto found = find("well.test", 10s);
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->front().to_string(), "127.0.0.1");
}

// Goal: a peer that names many hosts starts no thread for each. Method: more names than threads
// hang; those that wait for a thread are asked for when the others end, if anybody waits for them.
TEST_F(LookUp, AThreadEachForSixteenNamesAtATime) {
    const auto nth = [](int i) { return "many" + std::to_string(i) + ".test"; };
    for (int i = 0; i < 20; ++i) {
        names.set(nth(i), "127.0.0.1");
        names.hang(nth(i));
    }
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(find(nth(i), 1ms).has_error());
    for (int i = 0; i < 16; ++i) EXPECT_TRUE(names.wait_for_question(nth(i)));
    for (int i = 16; i < 20; ++i) EXPECT_EQ(names.asked(nth(i)), 0);
    names.go_on();
    EXPECT_TRUE(find("well.test", 10s).has_value());
    for (int i = 16; i < 20; ++i) EXPECT_EQ(names.asked(nth(i)), 0);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(find(nth(i), 10s).has_value());
}

// Goal: the end of a store waits for no name server. Method: the loop ends while a name hangs,
// which is found when no loop is there to hear of it.
TEST_F(LookUp, TheEndOfTheLoopWaitsForNoName) {
    ASSERT_TRUE(find("hung.test", 1ms).has_error());
    ASSERT_TRUE(names.wait_for_question("hung.test"));
    where.reset();
    EXPECT_TRUE(names.wait_for_question("hung.test"));
    names.go_on();
}

TEST_F(LookUp, AnAddressIsItsOwnAndANameWithANulIsNone) {
    const auto own = find("::1", 10s);
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(own->front().to_string(), "::1");
    for (const auto& name : {std::string{"a.test\0b", 8}, std::string{"::1\0b", 5}}) {
        const auto none = find(name, 10s);
        ASSERT_TRUE(none.has_error());
        EXPECT_EQ(none.error().code, errc::protocol);
    }
}

TEST_F(LookUp, AStreamThatIsClosedWaitsForItsNameNoMore) {
    const auto stream = std::make_shared<byte_stream>(where->get_executor());
    const auto connect = [](std::shared_ptr<byte_stream> over) -> async<void> {
        auto connecting = over->connect_tcp("hung.test", 1);
        boost::asio::post(co_await boost::asio::this_coro::executor, [over] { over->close(); });
        co_return co_await std::move(connecting);
    };
    const auto connected = where->wait_for(connect(stream));
    ASSERT_TRUE(connected.has_error());
    EXPECT_EQ(connected.error().code, errc::unreachable);
}

}  // namespace
}  // namespace pawl::net
