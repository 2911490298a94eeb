#include "test_support/faults/canned_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <thread>

namespace pawl::testing_faults {

using boost::asio::awaitable;
using boost::asio::ip::tcp;

struct canned_server::state {
    explicit state(std::vector<std::string> said)
        : lines{std::move(said)},
          acceptor{context, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}} {}

    awaitable<void> take_connections() {
        for (;;) {
            boost::system::error_code error;
            auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
            auto client = co_await acceptor.async_accept(token);
            if (error) co_return;
            boost::asio::co_spawn(context, talk(std::move(client)), boost::asio::detached);
        }
    }

    awaitable<void> talk(tcp::socket client) {
        std::array<char, 4096> heard;
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        for (std::size_t next = 0;; ++next) {
            co_await client.async_read_some(boost::asio::buffer(heard), token);
            if (error) co_return;
            if (lines.empty()) continue;
            const auto& line = lines[std::min(next, lines.size() - 1)];
            co_await boost::asio::async_write(client, boost::asio::buffer(line), token);
            if (error) co_return;
        }
    }

    boost::asio::io_context context{1};
    const std::vector<std::string> lines;
    tcp::acceptor acceptor;
    std::thread thread;
};

canned_server::canned_server(std::vector<std::string> lines)
    : state_{std::make_unique<state>(std::move(lines))} {
    boost::asio::co_spawn(state_->context, state_->take_connections(), boost::asio::detached);
    state_->thread = std::thread{[where = state_.get()] { where->context.run(); }};
}

canned_server::~canned_server() {
    state_->context.stop();
    state_->thread.join();
}

std::uint16_t canned_server::port() const noexcept {
    return state_->acceptor.local_endpoint().port();
}

}  // namespace pawl::testing_faults
