#include "net/deadline_watch.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;

// Has deadlines; the last one ends the watch.
class requester : public std::enable_shared_from_this<requester> {
public:
    explicit requester(boost::asio::io_context& where) : watch_{where.get_executor()} {}

    void ask(instant deadline) {
        open_.push_back(deadline);
        arm();
    }
    void end() { watch_.end(); }
    void drop() { watch_.drop(); }
    instant when() const { return watch_.when(); }
    int expired() const { return expired_; }
    int checks() const { return checks_; }

private:
    void arm() {
        const auto next = std::min_element(open_.begin(), open_.end());
        watch_.arm(*next, shared_from_this(), &requester::check);
    }
    void check() {
        ++checks_;
        const auto now = lease_clock::now();
        expired_ += static_cast<int>(
            std::erase_if(open_, [&](instant deadline) { return deadline <= now; }));
        if (open_.empty())
            watch_.end();
        else
            arm();
    }

    deadline_watch watch_;
    std::vector<instant> open_;
    int expired_ = 0;
    int checks_ = 0;
};

TEST(DeadlineWatch, EveryDeadlineIsSeenWhateverTheirOrder) {
    boost::asio::io_context context;
    const auto one = std::make_shared<requester>(context);
    const auto now = lease_clock::now();
    for (const auto after : {30ms, 10ms, 20ms}) one->ask(now + after);
    EXPECT_EQ(one->when(), now + 10ms);
    context.run();
    EXPECT_EQ(one->expired(), 3);
    EXPECT_GE(lease_clock::now(), now + 30ms);
}

// What is watched lives until its watch has ended, and no longer.
TEST(DeadlineWatch, KeepsItsOwnerUntilItsEnd) {
    boost::asio::io_context context;
    auto one = std::make_shared<requester>(context);
    const std::weak_ptr<requester> seen = one;
    one->ask(lease_clock::now() + 1h);
    boost::asio::post(context, [one = std::move(one)] { one->end(); });
    ASSERT_FALSE(seen.expired());
    context.run();
    EXPECT_TRUE(seen.expired());
}

TEST(DeadlineWatch, AfterItsEndNothingIsChecked) {
    boost::asio::io_context context;
    const auto ended = std::make_shared<requester>(context);
    ended->ask(lease_clock::now() - 1s);
    ended->end();
    const auto dropped = std::make_shared<requester>(context);
    dropped->ask(lease_clock::now() - 1s);
    boost::asio::post(context, [&] {
        dropped->drop();
        dropped->ask(lease_clock::now());
    });
    context.run();
    EXPECT_EQ(ended->checks(), 0);
    EXPECT_EQ(dropped->when(), instant::max());
}

// The loop ends while a deadline is waited for: nothing is left behind.
TEST(DeadlineWatch, ALoopThatEndsLetsItGo) {
    std::weak_ptr<requester> seen;
    {
        boost::asio::io_context context;
        auto one = std::make_shared<requester>(context);
        seen = one;
        one->ask(lease_clock::now() + 1h);
        context.run_for(1ms);
    }
    EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace pawl::net
