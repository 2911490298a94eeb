#include "test_support/servers/dynamodb_server.hpp"

#include "test_support/servers/set_up_server.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <stdexcept>

namespace pawl::testing_servers {

dynamodb_server::dynamodb_server() : libraries_{set_up_server("dynamodb-local") / "lib"} {
    start();
}

// Small and quick to start.
process dynamodb_server::launch() {
    return process{{"java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Djava.library.path=" + libraries_.string(),
                    "-Djava.io.tmpdir=" + folder().string(), "-cp", (libraries_ / "*").string(),
                    "com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-dbPath",
                    data().string(), "-port", std::to_string(port()), "-disableTelemetry"},
                   user(),
                   log()};
}

bool dynamodb_server::serves() const {
    try {
        return ask("ListTables", "{}").find("TableNames") != std::string::npos;
    } catch (const boost::system::system_error&) {
        return false;
    }
}

std::string dynamodb_server::ask(const std::string& operation, const std::string& body) const {
    using boost::asio::ip::tcp;
    boost::asio::io_context context;
    tcp::socket link{context};
    link.connect({boost::asio::ip::address_v4::loopback(), port()});
    const auto request =
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX-Amz-Date: 20260101T000000Z"
        "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810." +
        operation +
        "\r\nAuthorization: AWS4-HMAC-SHA256 Credential=test/20260101/local/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=0\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    boost::asio::write(link, boost::asio::buffer(request));
    std::string answer;
    boost::system::error_code error;
    boost::asio::read(link, boost::asio::dynamic_buffer(answer), error);
    if (answer.find("HTTP/1.1 ") != 0) throw boost::system::system_error{error};
    return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace pawl::testing_servers
