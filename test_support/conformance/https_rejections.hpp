// What a store that is asked over HTTP says where something else answers, or where it has nothing
// to ask with.
#pragma once

#include "net/https/https_fixture.hpp"
#include "test_support/conformance/rejections.hpp"

#include <functional>
#include <string>

namespace pawl::conformance {

// `open` makes the store of the server on this port; `service` is what it calls the service.
inline void expect_strangers_rejected(const std::function<store_opener(std::uint16_t)>& open,
                                      const std::string& service, const std::string& of_a_page) {
    const auto expect = [&](const std::string& answer, const std::string& words) {
        const net::small_server server{
            [answer](const std::string&, int) { return net::said{answer}; }};
        expect_rejection(open(server.port()), errc::protocol, words);
    };
    expect(net::ok("<html>hello</html>"), "this is not " + service + of_a_page);
    expect("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
           "this is not " + service + ": status 404");
    expect("-ERR\r\n", "the answer is not HTTP");
}

// The store of this server has no credentials: the message says so, and nothing is asked.
inline void expect_nothing_asked(const std::function<store_opener(std::uint16_t)>& open,
                                 const std::string& words) {
    const net::small_server server{[](const std::string&, int) { return net::said{net::ok("")}; }};
    expect_rejection(open(server.port()), errc::denied, words);
    EXPECT_EQ(server.connections(), 0);
}

}  // namespace pawl::conformance
