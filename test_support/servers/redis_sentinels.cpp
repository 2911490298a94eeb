#include "test_support/servers/redis_sentinels.hpp"

#include <pawl/clock.hpp>

#include <poll.h>

#include <fstream>
#include <functional>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t sentinel_count = 3;
// The first one notices alone, and asks the others to let it lead: when all notice at once, two of
// them may lead, one after the other, and replace each other's masters for a quarter of a minute.
constexpr int later_by = 6;

void until(const std::string& what, const std::function<bool()>& holds) {
    const auto give_up = lease_clock::now() + 60s;
    while (!holds()) {
        if (lease_clock::now() > give_up)
            throw std::runtime_error{"the sentinels of the test: " + what + " after a minute"};
        poll(nullptr, 0, 10);
    }
}

redis_options node_options(const redis_sentinels_options& options, std::uint16_t primary) {
    redis_options node;
    node.persistence = options.persistence;
    node.password = options.password;
    node.primary = primary;
    node.more = options.more;
    // A server that waited for its replicas before it ends would be taken for dead.
    node.more.push_back("shutdown-timeout 0");
    if (!options.password.empty()) node.more.push_back("masterauth " + options.password);
    return node;
}

}  // namespace

redis_sentinels::redis_sentinels(redis_sentinels_options options)
    : options_{std::move(options)}, user_{server_user({"redis"})} {
    hand_over(folder_.path(), user_);
    nodes_.push_back(std::make_unique<redis_server>(node_options(options_, 0)));
    for (std::size_t i = 0; i < options_.replicas; ++i)
        nodes_.push_back(std::make_unique<redis_server>(node_options(options_, node(0).port())));
    for (std::size_t i = 0; i < sentinel_count; ++i) {
        ports_.push_back(free_port());
        start_sentinel(ports_.back(), options_);
    }
    wait_until_ready();
}

void redis_sentinels::start_sentinel(std::uint16_t port, const redis_sentinels_options& options) {
    const auto name = "sentinel-" + std::to_string(port);
    const auto file = folder_.path() / (name + ".conf");
    {
        std::ofstream out{file};
        out << "port " << port << "\nbind 127.0.0.1\ndir " << folder_.path().string()
            << "\nsentinel monitor " << master_name << " 127.0.0.1 " << node(0).port()
            << " 1\nsentinel down-after-milliseconds " << master_name << " "
            << options.down_after.count() * (sentinels_.empty() ? 1 : later_by)
            << "\nsentinel failover-timeout " << master_name << " 3000\n";
        if (!options.password.empty())
            out << "sentinel auth-pass " << master_name << " " << options.password << "\n";
        if (!options.sentinel_password.empty())
            out << "requirepass " << options.sentinel_password << "\nsentinel sentinel-pass "
                << options.sentinel_password << "\n";
    }
    // It writes down there what it learns.
    hand_over(file, user_);
    const auto log = folder_.path() / (name + ".log");
    sentinels_.emplace_back(std::vector<std::string>{"redis-server", file.string(), "--sentinel"},
                            user_, log);
    wait_until_ready_to_answer(port, log);
}

void redis_sentinels::wait_until_ready_to_answer(std::uint16_t port,
                                                 const std::filesystem::path& log) const {
    testing_servers::wait_until_ready(sentinels_.back(), log, [&] {
        try {
            return ask_redis(port, options_.sentinel_password, {"PING"}) == "PONG";
        } catch (const std::runtime_error&) {
            return false;
        }
    });
}

std::string redis_sentinels::ask_sentinel(std::size_t which,
                                          const std::vector<std::string>& words) const {
    return ask_redis(ports_.at(which), options_.sentinel_password, words);
}

std::string redis_sentinels::hosts() const {
    std::string all;
    for (const auto port : ports_)
        all += (all.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    return all;
}

void redis_sentinels::wait_until_ready() const {
    const auto others = sentinel_count - 1;
    for (std::size_t i = 0; i < ports_.size(); ++i)
        until("they are not ready", [&] {
            const auto told = ask_sentinel(i, {"SENTINEL", "MASTER", master_name});
            return told.find("num-slaves\n" + std::to_string(options_.replicas) + "\n") !=
                       std::string::npos &&
                   told.find("num-other-sentinels\n" + std::to_string(others) + "\n") !=
                       std::string::npos &&
                   told.find("flags\nmaster\n") != std::string::npos;
        });
    // A sentinel fails over only to a replica that it has seen in good order.
    for (std::size_t i = 0; i < ports_.size(); ++i)
        until("their replicas are not linked", [&] {
            const auto told = ask_sentinel(i, {"SENTINEL", "REPLICAS", master_name});
            std::size_t linked = 0;
            for (auto at = told.find("master-link-status\nok"); at != std::string::npos;
                 at = told.find("master-link-status\nok", at + 1))
                ++linked;
            return linked == options_.replicas;
        });
}

std::size_t redis_sentinels::master() const {
    const auto told = ask_sentinel(0, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name});
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (told == "127.0.0.1\n" + std::to_string(nodes_[i]->port())) return i;
    throw std::runtime_error{"the sentinels name a master that is none of ours: " + told};
}

std::size_t redis_sentinels::wait_until_moved_from(std::size_t old) {
    for (std::size_t i = 0; i < ports_.size(); ++i)
        until("they name the old master still", [&] {
            return ask_sentinel(i, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name}) !=
                   "127.0.0.1\n" + std::to_string(node(old).port());
        });
    const auto now = master();
    until("the new one is no master",
          [&] { return node(now).ask({"ROLE"}).starts_with("master"); });
    return now;
}

void redis_sentinels::fail_over() {
    const auto old = master();
    until("no failover", [&] {
        try {
            ask_sentinel(0, {"SENTINEL", "FAILOVER", master_name});
            return true;
        } catch (const std::runtime_error&) {
            return false;  // -INPROG or -NOGOODSLAVE: soon after another failover
        }
    });
    wait_until_moved_from(old);
}

void redis_sentinels::freeze_sentinel(std::size_t which) const { sentinels_.at(which).freeze(); }

void redis_sentinels::thaw_sentinel(std::size_t which) const { sentinels_.at(which).thaw(); }

// All have acknowledged all: one that is merely online may still load what it was sent.
void redis_sentinels::wait_until_followed(std::size_t here) {
    until("its replicas do not follow", [&] {
        const auto told = node(here).ask({"INFO", "replication"});
        const std::string name = "master_repl_offset:";
        const auto at = told.find(name) + name.size();
        const auto offset = told.substr(at, told.find('\r', at) - at);
        const auto line = "state=online,offset=" + offset + ",";
        std::size_t following = 0;
        for (auto found = told.find(line); found != std::string::npos;
             found = told.find(line, found + 1))
            ++following;
        // Something to acknowledge.
        if (offset == "0") node(here).ask({"PUBLISH", "probe", ""});
        return offset != "0" && following == options_.replicas;
    });
}

void redis_sentinels::restart() { node(master()).restart(); }

// The replicas follow the master into the void.
void redis_sentinels::lose_data() { node(master()).lose_data(); }

}  // namespace pawl::testing_servers
