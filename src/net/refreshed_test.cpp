#include "net/refreshed.hpp"

#include <gtest/gtest.h>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;

// A clock that is turned by hand, so that nothing here takes time.
struct turned_node final : simulated_node {
    instant now() const override { return at; }
    time::wall_instant wall() const override {
        return time::wall_instant{
            std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch())};
    }
    std::uint64_t random() override { return 7; }

    instant at{1h};
};

class Renewed : public ::testing::Test {
protected:
    using value = fetched<std::string>;

    // The number of the fetch, which ends so long after it.
    async<value> fetch() {
        ++fetches_;
        if (!answers_) co_return failure{errc::unreachable, "not now"};
        std::optional<time::wall_instant> end;
        if (lasts_) end = node_.wall() + *lasts_;
        value made{std::to_string(fetches_), "a test", end};
        co_return made;
    }
    // What is answered at once, without the time going on; empty: a failure.
    std::string get() {
        std::string answer = "none";
        boost::asio::co_spawn(loop_.get_executor(), made_->get(node_.at + 1h),
                              [&](std::exception_ptr, result<std::string> got) {
                                  answer = got.has_value() ? *got : "";
                              });
        loop_.turn();
        return answer;
    }
    void pass(std::chrono::nanoseconds time) {
        node_.at += time;
        loop_.clocks().fire();
    }

    turned_node node_;
    loop loop_{node_};
    bool answers_ = true;
    std::optional<std::chrono::microseconds> lasts_ = 1h;
    int fetches_ = 0;
    std::shared_ptr<refreshed<std::string>> made_ = std::make_shared<refreshed<std::string>>(
        loop_, "values", [this](instant) { return fetch(); });
};

TEST_F(Renewed, IsFetchedAnewFiveMinutesBeforeItEnds) {
    EXPECT_EQ(made_->source(), "");
    EXPECT_EQ(get(), "1");
    EXPECT_EQ(made_->source(), "a test");
    pass(55min - 1s);
    EXPECT_EQ(get(), "1");
    EXPECT_EQ(fetches_, 1);
    pass(1s);
    EXPECT_EQ(get(), "2");
    EXPECT_EQ(get(), "2");
    EXPECT_EQ(fetches_, 2);
}

// Some say that theirs end in the year 9999.
TEST_F(Renewed, OneThatEndsInThousandsOfYearsIsUsed) {
    lasts_ = std::chrono::years{8000};
    EXPECT_EQ(get(), "1");
    EXPECT_EQ(get(), "1");
    EXPECT_EQ(fetches_, 1);
}

TEST_F(Renewed, AnOldOneIsUsedUntilItsEndWhereNoNewOneIsHad) {
    EXPECT_EQ(get(), "1");
    answers_ = false;
    pass(59min);
    EXPECT_EQ(get(), "1");
    EXPECT_EQ(get(), "1");
    pass(1min);
    EXPECT_EQ(get(), "");
    EXPECT_EQ(fetches_, 3);
    // A failure is the answer for a second, and nothing is asked.
    EXPECT_EQ(get(), "");
    EXPECT_EQ(fetches_, 3);
    answers_ = true;
    pass(1s);
    EXPECT_EQ(get(), "4");
}

TEST_F(Renewed, OneThatIsAboutToEndIsNotFetchedAllTheTime) {
    lasts_ = 1min;
    EXPECT_EQ(get(), "1");
    pass(9s);
    EXPECT_EQ(get(), "1");
    EXPECT_EQ(fetches_, 1);
    pass(1s);
    get();
    EXPECT_EQ(fetches_, 2);
}

TEST_F(Renewed, OneThatLastsIsLookedAtEveryFiveMinutes) {
    lasts_.reset();
    EXPECT_EQ(get(), "1");
    pass(5min - 1s);
    EXPECT_EQ(get(), "1");
    pass(1s);
    EXPECT_EQ(get(), "2");
}

TEST_F(Renewed, OneThatWasRejectedIsNotUsedAgain) {
    EXPECT_EQ(get(), "1");
    made_->forget();
    EXPECT_EQ(get(), "2");
}

}  // namespace
}  // namespace pawl::net
