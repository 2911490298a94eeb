#include "net/attachment.hpp"

#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

namespace pawl::net {
namespace {

class tenant : public attached {
public:
    void loop_ends() override { ++ends; }
    int ends = 0;
};

TEST(Attachment, PostsToItsLoopWhileThatLives) {
    boost::asio::io_context context;
    const auto here = std::make_shared<tenant>();
    const auto handle = attach(context.get_executor(), here);
    int ran = 0;
    handle->post([&] { ++ran; });
    context.run();
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(here->ends, 0);
}

TEST(Attachment, TheEndOfTheLoopIsToldOnceAndPostsAreDroppedFromThenOn) {
    const auto here = std::make_shared<tenant>();
    std::shared_ptr<attachment> handle;
    {
        boost::asio::io_context context;
        handle = attach(context.get_executor(), here);
    }
    EXPECT_EQ(here->ends, 1);
    handle->post([] { FAIL() << "the loop is gone"; });
}

TEST(Attachment, WhatIsGoneBeforeItsLoopIsNotTold) {
    boost::asio::io_context context;
    auto here = std::make_shared<tenant>();
    const std::weak_ptr<tenant> watch = here;
    const auto handle = attach(context.get_executor(), here);
    here.reset();
    EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace pawl::net
