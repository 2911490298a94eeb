#include "engines/mysql/client/link.hpp"

#include <gtest/gtest.h>

#include <signal.h>

namespace pawl::mysql {
namespace {

boost::asio::awaitable<std::optional<server_error>> dial_unused_port(std::shared_ptr<link> line,
                                                                     const mysql_settings& to) {
    std::string host{"127.0.0.1"};
    co_return co_await line->connect(to, host);
}

// The client library would have the whole process ignore it, and the commands that it starts.
TEST(MysqlLink, TheProcessKeepsItsSigpipe) {
    net::loop where;
    mysql_settings to;
    to.port = 1;
    const auto line = std::make_shared<link>(where);
    EXPECT_TRUE(where.wait_for(dial_unused_port(line, to)).has_value());
    struct sigaction now{};
    ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace pawl::mysql
