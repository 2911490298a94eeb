// The four-letter words of a ZooKeeper server: one question over a connection of its own.
//
// The C client takes whatever is on the port for a ZooKeeper, and does not say why it cannot
// connect. So a server is asked `srvr` first, which every server allows unless told otherwise.
#pragma once

#include "engines/zookeeper/client/zookeeper_settings.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>

#include <string>
#include <string_view>

namespace pawl::zookeeper {

// All that the server says before it closes the connection, at most 64 KiB; or what does not begin
// like an answer to that word.
using answer_check = bool (*)(std::string_view text);
async<std::string> ask_word(net::loop::executor_type executor, server whom, std::string word,
                            instant until, answer_check plausible = nullptr);

enum class readiness {
    serving,
    read_only,
    not_serving,  // up, but without a quorum
    silent_word   // a ZooKeeper whose `srvr` is not allowed
};

struct server_report {
    readiness state = readiness::serving;
    std::string version;  // such as 3.8.0; empty: unknown
    std::string mode;     // standalone, leader, follower, observer, read-only
    std::string connections, outstanding;
};

// `protocol` for what does not speak like a ZooKeeper.
result<server_report> read_srvr(const server& whom, std::string_view text);
async<server_report> ask_srvr(net::loop::executor_type executor, server whom, instant until);

// Its tickTime; `unsupported` where `conf` is not allowed.
async<millis> ask_tick(net::loop::executor_type executor, server whom, instant until);
// The value of a line "name=value" or "name value"; empty without one.
std::string value_of(const std::string& text, std::string_view name);

}  // namespace pawl::zookeeper
