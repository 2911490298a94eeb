#include "test_support/servers/s3_server.hpp"

#include "test_support/servers/set_up_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <poll.h>

namespace pawl::testing_servers {
namespace {

constexpr int probe_pause_ms = 20;

bool speaks_http(std::uint16_t port) {
    using boost::asio::ip::tcp;
    boost::asio::io_context context;
    tcp::socket link{context};
    boost::system::error_code error;
    link.connect({boost::asio::ip::address_v4::loopback(), port}, error);
    if (error) {
        poll(nullptr, 0, probe_pause_ms);
        return false;
    }
    const std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    boost::asio::write(link, boost::asio::buffer(request), error);
    std::string answer;
    boost::asio::read(link, boost::asio::dynamic_buffer(answer), error);
    return answer.starts_with("HTTP/1.1 ");
}

}  // namespace

s3_server::s3_server(s3_options options)
    : data_server{temporary_folder::storage::disk},  // the ETag of an object is an attribute
      options_{options},
      program_{set_up_server("versitygw") / "versitygw"} {
    start();
}

void s3_server::prepare() const {
    std::filesystem::create_directory(data() / bucket);
    hand_over(data() / bucket, user());
}

process s3_server::launch() {
    return process{
        {program_.string(), "--port",
         (options_.open_to_all ? "0.0.0.0:" : "127.0.0.1:") + std::to_string(port()), "--access",
         key_id, "--secret", key_secret, "--keep-alive", "--quiet", "posix", data().string()},
        user(),
        log()};
}

bool s3_server::serves() const { return speaks_http(port()); }

unconditional_s3_server::unconditional_s3_server() : port_{free_port()} {
    const auto user = server_user({"nobody"});
    hand_over(folder_.path(), user);
    const auto data = folder_.path() / "data";
    std::filesystem::create_directory(data);
    hand_over(data, user);
    const auto program = set_up_server("s3rver") / "node_modules/.bin/s3rver";
    const auto log = folder_.path() / "log";
    server_ =
        process{{"node", program.string(), "--directory", data.string(), "--port",
                 std::to_string(port_), "--address", "127.0.0.1", "--configure-bucket", bucket},
                user,
                log};
    wait_until_ready(server_, log, [this] { return speaks_http(port_); });
}

}  // namespace pawl::testing_servers
