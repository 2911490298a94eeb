#include "test_support/servers/azurite_server.hpp"

#include "test_support/servers/set_up_server.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace pawl::testing_servers {

azurite_server::azurite_server() : program_{set_up_server("azurite")} { start(); }

process azurite_server::launch() {
    return process{{"node", "--require", (program_ / "stamp.js").string(),
                    (program_ / "node_modules/azurite/dist/src/blob/main.js").string(), "--silent",
                    "--disableTelemetry", "--blobHost", "0.0.0.0", "--blobPort",
                    std::to_string(port()), "--location", data().string()},
                   user(),
                   log()};
}

bool azurite_server::serves() const {
    try {
        return ask("GET", "?comp=list").find("EnumerationResults") != std::string::npos;
    } catch (const boost::system::system_error&) {
        return false;
    }
}

void azurite_server::save() {
    // It saves all records at once, so that whatever was answered before this one is saved with it.
    const auto last = "saved-" + std::to_string(++saved_);
    ask("PUT", "/" + last + "?restype=container");
    wait_until_ready(server(), log(), [&] {
        std::ifstream file{data() / "__azurite_db_blob__.json"};
        std::ostringstream records;
        records << file.rdbuf();
        return records.str().find('"' + last + '"') != std::string::npos;
    });
}

std::string azurite_server::ask(const std::string& method, const std::string& target,
                                const std::string& fields) const {
    using boost::asio::ip::tcp;
    boost::asio::io_context context;
    tcp::socket link{context};
    link.connect({boost::asio::ip::address_v4::loopback(), port()});
    const auto* sign = target.find('?') == std::string::npos ? "?" : "&";
    const auto request = method + " /" + account + target + sign + signature +
                         " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0"
                         "\r\nx-ms-version: 2021-12-02\r\n" +
                         fields + "\r\n";
    boost::asio::write(link, boost::asio::buffer(request));
    std::string answer;
    boost::system::error_code error;
    boost::asio::read(link, boost::asio::dynamic_buffer(answer), error);
    if (answer.find("HTTP/1.1 ") != 0) throw boost::system::system_error{error};
    return answer;
}

}  // namespace pawl::testing_servers
