// Dials a Redis and logs in: what every connection does before its first request.
#pragma once

#include "engines/redis/client/redis_settings.hpp"
#include "engines/redis/client/resp.hpp"
#include "net/byte_stream.hpp"

#include <pawl/spi/async.hpp>

#include <memory>
#include <string>
#include <vector>

namespace pawl::redis {

// What the server said of itself; asked for under quarantine only.
struct session_facts {
    std::string run_id;  // changes with every start of the server
    // Where it keeps what is on its disk before it is answered, in letters and digits that another
    // place hardly has; "lazy" where it answers before, so that a restart may forget; "uncertain"
    // where it does not tell, or another server may take over.
    std::string place = "uncertain";
};

// Sends `count` commands in one go and reads as many replies. Has no timeout, as dial.
async<std::vector<reply>> exchange(std::shared_ptr<net::byte_stream> stream,
                                   std::shared_ptr<reply_parser> parser, std::string commands,
                                   std::size_t count, std::string place);

// The value of `name` in what INFO answered; empty when it is not there.
std::string_view field_of(std::string_view info, std::string_view name);

// What calls itself so, and its own version, such as "Valkey 8.0.1"; empty where INFO tells none.
// `redis_version` is what Valkey says for clients that know Redis only.
std::string server_version(std::string_view info);

// As place_of(), but for what the application has connected: where that leads.
std::string place_over(const net::byte_stream& stream, const redis_settings& settings);

// Has no timeout: the owner of the stream closes it when the time is up. A failure is
// `unreachable` when trying again may help; so a server that is no master, where settings ask for
// one.
async<session_facts> dial(std::shared_ptr<net::byte_stream> stream,
                          std::shared_ptr<reply_parser> parser,
                          std::shared_ptr<const redis_settings> settings);

}  // namespace pawl::redis
