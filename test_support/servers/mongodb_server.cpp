#include "test_support/servers/mongodb_server.hpp"

#include "test_support/servers/set_up_server.hpp"

#include <mongoc/mongoc.h>

#include <memory>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

struct freed {
    void operator()(mongoc_client_t* what) const noexcept { mongoc_client_destroy(what); }
};

void begin_library() {
    mongoc_log_set_handler(nullptr, nullptr);
    mongoc_init();
}

// What a command is answered; empty where it is not, within so many seconds each for a connection
// and the answer.
std::string ask_on(std::uint16_t port, const std::string& database, const std::string& command,
                   int seconds) {
    const auto bound = std::to_string(seconds) + "000";
    const auto uri = "mongodb://127.0.0.1:" + std::to_string(port) +
                     "/?serverSelectionTimeoutMS=" + bound + "&socketTimeoutMS=" + bound;
    begin_library();
    const std::unique_ptr<mongoc_client_t, freed> on{mongoc_client_new(uri.c_str())};
    bson_error_t error{};
    bson_t asked, reply;
    if (!on ||
        !bson_init_from_json(&asked, command.data(), static_cast<ssize_t>(command.size()), &error))
        throw std::runtime_error{"no such command: " + command};
    const bool done =
        mongoc_client_command_simple(on.get(), database.c_str(), &asked, nullptr, &reply, &error);
    bson_destroy(&asked);
    std::string text;
    if (done) {
        auto* json = bson_as_relaxed_extended_json(&reply, nullptr);
        text = json;
        bson_free(json);
    }
    bson_destroy(&reply);
    return text;
}

bool is_answered_on(std::uint16_t port) {
    return !ask_on(port, "admin", R"({"ping": 1})", 2).empty();
}

}  // namespace

mongodb_server::mongodb_server() : program_{set_up_server("mongo-java-server")} { start(); }

// Small and quick to start.
process mongodb_server::launch() {
    return process{{"java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Djava.io.tmpdir=" + folder().string(), "-cp",
                    program_.string() + ":" + (program_ / "lib" / "*").string(), "Serve",
                    (data() / "records").string(), std::to_string(port())},
                   user(),
                   log()};
}

bool mongodb_server::serves() const { return is_answered_on(port()); }

std::string mongodb_server::ask(const std::string& database, const std::string& command) const {
    // However long it stands still.
    return ask_on(port(), database, command, 30);
}

unconditional_mongodb_server::unconditional_mongodb_server() : port_{free_port()} {
    const auto user = server_user({"nobody"});
    hand_over(folder_.path(), user);
    const auto data = folder_.path() / "data";
    std::filesystem::create_directory(data);
    hand_over(data, user);
    const auto program = set_up_server("ferretdb") / "ferretdb";
    const auto log = folder_.path() / "log";
    server_ =
        process{{program.string(), "127.0.0.1:" + std::to_string(port_), data.string()}, user, log};
    wait_until_ready(server_, log, [this] { return is_answered_on(port_); });
}

}  // namespace pawl::testing_servers
