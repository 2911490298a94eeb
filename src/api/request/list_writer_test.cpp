#include "api/request/list_writer.hpp"

#include "api/request/json_body.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
namespace json = boost::json;

json::object entry(std::size_t which) {
    return {{"name", "entry " + std::to_string(which)}, {"text", std::string(100, 'x')}};
}

call asking(std::string if_none_match = {}) {
    auto request = std::make_shared<http::request>();
    if (!if_none_match.empty())
        request->fields.push_back({"if-none-match", std::move(if_none_match)});
    call made;
    made.request = std::move(request);
    return made;
}

std::string tag_in(const http::response& from) {
    for (const auto& one : from.fields)
        if (one.name == "ETag") return one.value;
    return {};
}

struct written {
    http::response answer;
    std::size_t count = 0;
    int turns = 0;  // that others had meanwhile
};

struct writing : std::enable_shared_from_this<writing> {
    net::loop loop;
    bool done = false;
    int turns = 0;

    awaitable<void> tick() {
        while (!done) {
            ++turns;
            co_await boost::asio::post(boost::asio::use_awaitable);
        }
    }
    awaitable<written> write(std::size_t most, call asked) {
        boost::asio::co_spawn(loop.get_executor(), tick(), boost::asio::detached);
        list_writer list{loop, "all", "2026-11-28T00:00:00.000Z"};
        for (std::size_t i = 0; i < most && !list.is_full(); ++i) {
            list.add(entry(i));
            if (!list.turn_is_over()) continue;
            auto turning = list.give_turn();
            co_await std::move(turning);
        }
        written made;
        made.count = list.size();
        made.answer = list.finish(asked, "later");
        made.turns = turns;
        done = true;
        co_return made;
    }
};

written write(std::size_t most, call asked = asking()) {
    writing one;
    return one.loop.wait_for(one.write(most, std::move(asked)));
}

TEST(ListWriter, WritesADocumentWithItsCursorAndItsTime) {
    const auto made = write(3);
    EXPECT_EQ(made.answer.status, 200U);
    const auto document = json::parse(made.answer.body).as_object();
    ASSERT_EQ(document.at("all").as_array().size(), 3U);
    EXPECT_EQ(document.at("all").at(2), json::value(entry(2)));
    EXPECT_EQ(document.at("next").as_string(), "later");
    EXPECT_FALSE(document.at("as_of").as_string().empty());
    EXPECT_TRUE(json::parse(write(0).answer.body).at("all").as_array().empty());
}

// A page that is full ends, and has not kept others waiting until then.
TEST(ListWriter, ALongListIsBoundedAndWrittenInSlices) {
    const auto made = write(1'000'000);
    EXPECT_GE(made.answer.body.size(), page_bytes_max);
    EXPECT_LT(made.answer.body.size(), page_bytes_max + 1'000);
    EXPECT_LT(made.count, 1'000'000U);
    // Two megabytes take several slices on any machine.
    EXPECT_GE(made.turns, 3);
}

TEST(ListWriter, ItsTagIsThatOfWhatItSays) {
    const auto tag = tag_in(write(5'000).answer);
    EXPECT_EQ(tag.size(), 34U);
    EXPECT_EQ(tag_in(write(5'000).answer), tag);
    EXPECT_NE(tag_in(write(5'001).answer), tag);
    const auto same = write(5'000, asking(tag));
    EXPECT_EQ(same.answer.status, 304U);
    EXPECT_TRUE(same.answer.body.empty());
}

}  // namespace
}  // namespace pawl::api
