// Requests over a real connection, to a server that is no agent.
#include "client/exchange.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace pawl::client {
namespace {

using boost::asio::ip::tcp;

// Answers one request with so many bytes, whatever they are, and closes.
class one_answer {
public:
    explicit one_answer(std::string said)
        : acceptor_{context_, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}},
          port_{acceptor_.local_endpoint().port()},
          serving_{[this, said = std::move(said)] {
              auto link = acceptor_.accept();
              std::string request;
              boost::asio::read_until(link, boost::asio::dynamic_buffer(request), "\r\n\r\n");
              boost::asio::write(link, boost::asio::buffer(said));
              link.shutdown(tcp::socket::shutdown_send);
              boost::system::error_code gone;
              link.read_some(boost::asio::buffer(request), gone);
          }} {}
    ~one_answer() { serving_.join(); }

    address where() const {
        return parse_address("http://127.0.0.1:" + std::to_string(port_)).value();
    }

private:
    boost::asio::io_context context_;
    tcp::acceptor acceptor_;
    std::uint16_t port_;
    std::thread serving_;
};

errc fault_of(const std::string& method, const std::string& said) {
    const one_answer server{said};
    caller asking{server.where(), ""};
    question what;
    what.method = method;
    what.target = "/api/v1/jobs/j/runs";
    const auto made = asking.ask(what);
    EXPECT_TRUE(made.has_error());
    return made.error().code;
}

// Goal: what was sent may have been done, whatever came back. Method: an answer that is none, and
// one that breaks off, to a question that changes nothing and to one that may.
TEST(Exchange, WhatWasSentMayHaveBeenDone) {
    const std::string noise = "\x01\x02 no protocol at all\r\n\r\n";
    const std::string broken =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n\r\n";
    EXPECT_EQ(fault_of("GET", noise), errc::protocol);
    EXPECT_EQ(fault_of("GET", broken), errc::protocol);
    EXPECT_EQ(fault_of("POST", noise), errc::outcome_unknown);
    EXPECT_EQ(fault_of("POST", broken), errc::outcome_unknown);
}

}  // namespace
}  // namespace pawl::client
