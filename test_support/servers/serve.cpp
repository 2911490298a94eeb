// A server of the tests, for a test that is not written in C++: test_server NAME.
//
// It writes its port and the environment that its clients need, NAME=VALUE …, and reads lines:
// freeze, thaw, crash and start, each answered with "ok" when it is done, and "url PORT", answered
// with a URL of the store that is reached by that port. The server goes when its input ends.
#include "test_support/servers/azurite_server.hpp"
#include "test_support/servers/dynamodb_server.hpp"
#include "test_support/servers/kube_server.hpp"
#include "test_support/servers/mongodb_server.hpp"
#include "test_support/servers/s3_server.hpp"

#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace pawl::testing_servers {
namespace {

// One clock answers, so skew=0.
std::string url_of(const dynamodb_server&, const std::string& port) {
    return "dynamodb://local/pawl-test?skew=0s&endpoint=http%3A%2F%2F127.0.0.1%3A" + port;
}
std::string url_of(const azurite_server&, const std::string& port) {
    return std::string{"azblob://"} + azurite_server::account +
           "/pawl-test?skew=0s&endpoint=http%3A%2F%2F127.0.0.1%3A" + port + "%2F" +
           azurite_server::account;
}
std::string url_of(const s3_server&, const std::string& port) {
    return std::string{"s3://"} + s3_server::bucket +
           "/leases?skew=0s&endpoint=http%3A%2F%2F127.0.0.1%3A" + port;
}
std::string url_of(const mongodb_server&, const std::string& port) {
    return "mongodb://127.0.0.1:" + port + "/pawl";
}
std::string url_of(const kube_server&, const std::string& port) {
    const auto file = kubeconfig_for("127.0.0.1", static_cast<std::uint16_t>(std::stoi(port)));
    return "kubernetes://jobs?skew=0s&context=" + context_of(kube_user::pawl) +
           "&kubeconfig=" + file.string();
}

// Of the store's clients.
template <class Server>
std::string environment_of(const Server&) {
    return "";
}
template <>
std::string environment_of(const dynamodb_server&) {
    return "AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=secret";
}
template <>
std::string environment_of(const s3_server&) {
    return std::string{"AWS_ACCESS_KEY_ID="} + s3_server::key_id +
           " AWS_SECRET_ACCESS_KEY=" + s3_server::key_secret;
}
template <>
std::string environment_of(const azurite_server&) {
    return std::string{"AZURE_STORAGE_KEY="} + azurite_server::key;
}

template <class Server>
int serve() {
    Server server;
    std::cout << server.port() << ' ' << environment_of(server) << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words{line};
        std::string word, port;
        words >> word >> port;
        std::string answer = "ok";
        if (word == "freeze")
            server.freeze();
        else if (word == "thaw")
            server.thaw();
        else if (word == "crash")
            server.crash();
        else if (word == "start")
            server.start();
        else if (word == "url")
            answer = url_of(server, port);
        else
            answer = "unknown: " + line;
        std::cout << answer << std::endl;
    }
    return 0;
}

// By the name of the engine.
const std::map<std::string, std::function<int()>, std::less<>> kinds{
    {"azblob", serve<azurite_server>},  {"dynamodb", serve<dynamodb_server>},
    {"kubernetes", serve<kube_server>}, {"mongodb", serve<mongodb_server>},
    {"s3", serve<s3_server>},
};

int run(int count, char** words) {
    const auto kind = count == 2 ? kinds.find(words[1]) : kinds.end();
    if (kind == kinds.end()) {
        std::cerr << "usage: test_server azblob|dynamodb|kubernetes|mongodb|s3\n";
        return 64;
    }
    return kind->second();
}

}  // namespace
}  // namespace pawl::testing_servers

int main(int count, char** words) {
    try {
        return pawl::testing_servers::run(count, words);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
