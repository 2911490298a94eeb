#include "test_support/servers/redis_server.hpp"

#include "test_support/servers/set_up_server.hpp"

#include <hiredis/hiredis.h>

#include <fstream>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

using connection = std::unique_ptr<redisContext, void (*)(redisContext*)>;

// Whether one answers is probed, and again; a question has to be answered, however long it stands
// still.
constexpr long probe_seconds = 2, ask_seconds = 30;

connection connect_to(std::uint16_t port, long seconds) {
    const timeval timeout{seconds, 0};
    connection opened{redisConnectWithTimeout("127.0.0.1", port, timeout), redisFree};
    if (opened && opened->err == 0) redisSetTimeout(opened.get(), timeout);
    return opened;
}

std::string text_of(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_INTEGER:
            return std::to_string(reply.integer);
        case REDIS_REPLY_ARRAY: {
            std::string all;
            for (std::size_t i = 0; i < reply.elements; ++i)
                all += (i == 0 ? "" : "\n") + text_of(*reply.element[i]);
            return all;
        }
        case REDIS_REPLY_NIL:
            return "(nil)";
        default:
            return {reply.str, reply.len};
    }
}

}  // namespace

redis_server::redis_server(redis_options options)
    : options_{std::move(options)},
      user_{server_user({"redis"})},
      program_{options_.kind == redis_kind::valkey
                   ? (set_up_server("valkey") / "valkey-server").string()
                   : "redis-server"},
      port_{free_port()},
      tls_port_{options_.tls ? free_port() : std::uint16_t{0}} {
    hand_over(folder_.path(), user_);
    write_configuration();
    start();
}

void redis_server::write_configuration() const {
    std::ofstream out{folder_.path() / "redis.conf"};
    out << "bind 127.0.0.1\nport " << port_ << "\ndir " << folder_.path().string()
        << "\nsave \"\"\ndaemonize no\nenable-debug-command local\nrepl-diskless-sync-delay 0\n";
    if (options_.persistence != redis_persistence::none) out << "appendonly yes\n";
    if (options_.persistence == redis_persistence::append_synced) out << "appendfsync always\n";
    for (const auto& user : options_.users) out << "user " << user << "\n";
    if (!options_.password.empty()) out << "requirepass " << options_.password << "\n";
    if (options_.unix_socket) out << "unixsocket " << unix_path() << "\nunixsocketperm 777\n";
    if (options_.maxmemory) out << "maxmemory " << *options_.maxmemory << "\n";
    if (options_.primary != 0) out << "replicaof 127.0.0.1 " << options_.primary << "\n";
    if (options_.tls) {
        const auto& tls = *options_.tls;
        const auto expired = options_.tls_expired;
        out << "tls-port " << tls_port_ << "\ntls-ca-cert-file " << tls.ca() << "\ntls-cert-file "
            << (expired ? tls.expired() : tls.server()) << "\ntls-key-file "
            << (expired ? tls.expired_key() : tls.server_key()) << "\ntls-auth-clients "
            << (options_.tls_wants_client ? "yes" : "optional") << "\n";
    }
    for (const auto& line : options_.more) out << line << "\n";
}

bool redis_server::answers() const {
    const auto link = connect_to(port_, probe_seconds);
    if (!link || link->err != 0) return false;
    const std::unique_ptr<redisReply, void (*)(void*)> reply{
        static_cast<redisReply*>(redisCommand(link.get(), "PING")), freeReplyObject};
    if (!reply) return false;
    // It lives if it wants to know who asks, but not while it still loads its data.
    return reply->type != REDIS_REPLY_ERROR || text_of(*reply).starts_with("NO");
}

void redis_server::start() {
    launch();
    wait_until_ready();
}

void redis_server::launch() {
    server_ = process{
        {program_, (folder_.path() / "redis.conf").string()}, user_, folder_.path() / "log"};
}

void redis_server::wait_until_ready() const {
    testing_servers::wait_until_ready(server_, folder_.path() / "log",
                                      [this] { return answers(); });
}

void redis_server::restart() {
    server_.stop();
    start();
}

void redis_server::crash() { server_.kill(); }

void redis_server::forget() const {
    for (const auto* name : {"appendonlydir", "dump.rdb"})
        std::filesystem::remove_all(folder_.path() / name);
}

void redis_server::lose_data() {
    crash();
    forget();
    start();
}

void redis_server::freeze() const { server_.freeze(); }
void redis_server::thaw() const { server_.thaw(); }

std::string redis_server::ask(const std::vector<std::string>& words) const {
    return ask_redis(port_, options_.password, words);
}

std::string ask_redis(std::uint16_t port, const std::string& password,
                      const std::vector<std::string>& words) {
    const auto link = connect_to(port, ask_seconds);
    if (!link || link->err != 0)
        throw std::runtime_error{"cannot connect to the Redis of the test"};
    const auto command = [&](const std::vector<std::string>& parts) {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (const auto& part : parts) {
            texts.push_back(part.data());
            sizes.push_back(part.size());
        }
        const std::unique_ptr<redisReply, void (*)(void*)> reply{
            static_cast<redisReply*>(redisCommandArgv(link.get(), static_cast<int>(texts.size()),
                                                      texts.data(), sizes.data())),
            freeReplyObject};
        if (!reply) throw std::runtime_error{"the Redis of the test does not answer"};
        if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{text_of(*reply)};
        return text_of(*reply);
    };
    if (!password.empty()) command({"AUTH", password});
    return command(words);
}

}  // namespace pawl::testing_servers
