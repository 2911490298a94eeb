// A flood of what costs much is kept to itself, whichever user sends it.
#include "api/auth/token.hpp"
#include "api/bare_api_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
using ::testing::HasSubstr;

constexpr const char* list = "/api/v1/locks?limit=1000";

struct healthy_node final : node_view {
    awaitable<std::optional<node_state>> look(millis) override { co_return node_state{}; }
};

class Costly : public BareApi {
protected:
    Costly() {
        around_->node = std::make_shared<healthy_node>();
        authorizer::parts auth;
        auth.loop = &core_.loop();
        for (const auto* name : {"flood", "alice"}) {
            config::user_settings one;
            one.name = name;
            one.token_hash = hash_of(token_of(name), {.memory_kib = 8, .passes = 1});
            auth.users.push_back(std::move(one));
        }
        api::parts parts;
        parts.around = around_;
        parts.auth = std::make_shared<authorizer>(std::move(auth));
        api_ = std::make_shared<api>(std::move(parts));
    }

    static std::string token_of(const std::string& user) {
        // By any secret, but always the same.
        static std::map<std::string, std::string> made;
        auto& one = made[user];
        if (one.empty()) one = fresh_token(user);
        return one;
    }

    std::future<http::response> begin(const std::string& target, const std::string& user,
                                      const std::string& peer = "192.0.2.1",
                                      std::stop_token gone = {}) {
        auto asked = std::make_shared<http::request>();
        const auto mark = target.find('?');
        asked->method = "GET";
        asked->path = target.substr(0, mark);
        if (mark != std::string::npos) asked->query = target.substr(mark + 1);
        asked->peer = peer;
        asked->gone = std::move(gone);
        if (!user.empty()) asked->fields.push_back({"authorization", "Bearer " + token_of(user)});
        return boost::asio::co_spawn(core_.loop().get_executor(),
                                     api::answer(api_, std::move(asked)), boost::asio::use_future);
    }
    http::response ask(const std::string& target, const std::string& user,
                       const std::string& peer = "192.0.2.1") {
        return begin(target, user, peer).get();
    }
    // Places are given back where the server does it: on the loop.
    void take(std::vector<http::response>& answers) {
        const auto drop = [](std::vector<http::response>& some) -> awaitable<bool> {
            some.clear();
            co_return true;
        };
        core_.loop().wait_for(drop(answers));
    }
    // As soon as one is there, whichever: others may wait until it is taken, and those whose token
    // had to be hashed come after those who found it known.
    void expect_answers(std::vector<std::future<http::response>>& asked) {
        while (!asked.empty()) {
            const auto is_there = [](const auto& one) {
                return one.wait_for(std::chrono::milliseconds{1}) == std::future_status::ready;
            };
            const auto one = std::find_if(asked.begin(), asked.end(), is_there);
            if (one == asked.end()) continue;
            std::vector<http::response> answer;
            answer.push_back(one->get());
            asked.erase(one);
            EXPECT_EQ(answer.front().status, 200U);
            take(answer);
        }
    }
    static std::string field_of(const http::response& from, std::string_view name) {
        for (const auto& one : from.fields)
            if (one.name == name) return one.value;
        return {};
    }
};

TEST_F(Costly, AUserHasSoManyListsUnderWay) {
    std::vector<http::response> untaken;
    for (std::size_t i = 0; i < costly_untaken_of_user_max; ++i) {
        untaken.push_back(ask(list, "flood"));
        ASSERT_EQ(untaken.back().status, 200U);
    }
    std::vector<std::future<http::response>> waiting;
    for (auto i = costly_untaken_of_user_max; i < costly_of_user_max; ++i)
        waiting.push_back(begin(list, "flood"));
    const auto rejected = ask(list, "flood");
    EXPECT_EQ(rejected.status, 429U);
    EXPECT_EQ(field_of(rejected, "Retry-After"), "1");
    EXPECT_THAT(rejected.body,
                HasSubstr("user 'flood' has 48 lists or documents under way already"));
    EXPECT_EQ(ask("/metrics", "flood").status, 429U);
    // Neither others nor what costs little are behind them.
    EXPECT_EQ(ask(list, "alice").status, 200U);
    EXPECT_EQ(ask("/metrics", "").status, 200U);
    EXPECT_EQ(ask("/healthz", "flood").status, 200U);
    EXPECT_EQ(ask("/api/v1/session", "flood").status, 200U);
    EXPECT_EQ(waiting.front().wait_for(std::chrono::seconds{0}), std::future_status::timeout);
    // As soon as one is taken the next is begun; nothing is left of those that have been.
    take(untaken);
    expect_answers(waiting);
    EXPECT_EQ(ask(list, "flood").status, 200U);
}

TEST_F(Costly, UsersWithoutALogInAreCountedByAddress) {
    std::vector<http::response> untaken;
    for (std::size_t i = 0; i < costly_untaken_of_user_max; ++i)
        untaken.push_back(ask("/metrics", "", "2001:db8::" + std::to_string(i)));
    std::vector<std::future<http::response>> waiting;
    for (auto i = costly_untaken_of_user_max; i < costly_of_user_max; ++i)
        waiting.push_back(begin("/metrics", "", "2001:db8::1"));
    const auto rejected = ask("/metrics", "", "2001:db8::ffff");
    EXPECT_EQ(rejected.status, 429U);
    EXPECT_THAT(rejected.body, HasSubstr("address 2001:db8::/64"));
    EXPECT_EQ(ask("/metrics", "", "192.0.2.1").status, 200U);
    // An open route knows those whose token was shown lately.
    EXPECT_EQ(ask(list, "alice", "2001:db8::ffff").status, 200U);
    EXPECT_EQ(ask("/metrics", "alice", "2001:db8::ffff").status, 200U);
    take(untaken);
    expect_answers(waiting);
}

// A user who comes back again and again without waiting for an answer leaves nothing behind.
TEST_F(Costly, ARequestThatHasGoneGivesItsPlaceBack) {
    std::stop_source gone;
    gone.request_stop();
    for (std::size_t i = 0; i < 2 * costly_of_user_max; ++i)
        EXPECT_EQ(begin(list, "flood", "192.0.2.1", gone.get_token()).get().status, 503U);
    EXPECT_EQ(ask(list, "flood").status, 200U);
}

// More at once than may be in work: each has its turn.
TEST_F(Costly, ThoseThatWaitForTheirTurnAreAnswered) {
    std::vector<std::future<http::response>> all;
    for (std::size_t i = 0; i < costly_of_user_max; ++i) all.push_back(begin(list, "flood"));
    expect_answers(all);
}

}  // namespace
}  // namespace pawl::api
