// The connections to one deployment of MongoDB: commands that block, on threads of their own.
//
// libmongoc keeps the connections, watches the servers, and finds the primary; all that it does
// blocks, so none of it is called on the loop.
#pragma once

#include "engines/mongodb/client/documents.hpp"
#include "engines/mongodb/client/error_mapping.hpp"
#include "net/attachment.hpp"
#include "net/blocking_pool.hpp"
#include "net/fork_check.hpp"
#include "net/loop.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/types.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::mongodb {

struct client_settings {
    // Of libmongoc, with all its options; it may hold a password.
    std::string uri;
    std::string database;
    // Begins every message: mongodb://HOSTS/DATABASE, without a secret.
    std::string place;
    millis timeout{2000};
};

// Why libmongoc takes no such URI, in words without a secret; nothing where it does.
std::optional<std::string> uri_fault(const std::string& uri);

// What a server says of itself.
struct greeting {
    document said;
    instant asked{};
    instant answered{};
};

// Commands that go to the primary on one connection, in this order, until one fails.
struct request {
    explicit request(effect does) : does{does} {}
    request(document command, effect does) : commands{std::move(command)}, does{does} {}

    std::vector<document> commands{};
    effect does;
    bool greets = false;  // hello follows
};

struct answers {
    std::vector<document> replies{};  // one for each command
    std::optional<greeting> hello{};  // there, where nothing else was asked
};

// On its loop only. Connects with the first request.
class client {
public:
    client(net::loop& where, client_settings settings);
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    const std::string& place() const noexcept { return settings_.place; }
    const std::string& database() const noexcept { return settings_.database; }

    // The server's rejection of a command is a failure; what a write did is in its reply.
    async<answers> run(request what, instant until);

    // Whether a command was ever answered.
    bool has_answered() const noexcept;

private:
    class connections;
    struct job;

    // Constant after construction
    const client_settings settings_;
    std::shared_ptr<connections> connections_;
    const std::shared_ptr<net::attachment> attachment_;
    std::shared_ptr<net::blocking_pool> threads_;
    const net::fork_check process_;
};

}  // namespace pawl::mongodb
