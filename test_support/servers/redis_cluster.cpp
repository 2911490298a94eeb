#include "test_support/servers/redis_cluster.hpp"

#include <pawl/clock.hpp>

#include <poll.h>

#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

using namespace std::chrono_literals;

constexpr auto give_up_after = 60s;

redis_options node_options(const redis_cluster_options& options) {
    redis_options node;
    node.persistence = options.persistence;
    node.users = options.users;
    node.more = {"cluster-enabled yes", "cluster-config-file nodes.conf",
                 // Until they are whole: so long, too, nodes that start serve nothing.
                 "cluster-node-timeout 1000", "cluster-announce-ip 127.0.0.1",
                 "cluster-replica-validity-factor 0",
                 // The default, ten thousand above the port, may lie beyond the last one.
                 "cluster-port " + std::to_string(free_port())};
    return node;
}

// In seconds since the epoch.
long long started_at(const redis_server& node) {
    const auto told = node.ask({"INFO", "server"});
    const auto number_behind = [&](const std::string& name) {
        return std::stoll(told.substr(told.find(name) + name.size()));
    };
    return number_behind("server_time_usec:") / 1'000'000 - number_behind("uptime_in_seconds:");
}

}  // namespace

redis_cluster::redis_cluster(redis_cluster_options options)
    : masters_{options.masters}, node_timeout_{options.node_timeout} {
    const auto count = options.masters * (options.with_replicas ? 2 : 1);
    std::vector<std::string> words{"redis-cli", "--cluster", "create"};
    for (std::size_t i = 0; i < count; ++i) {
        nodes_.push_back(std::make_unique<redis_server>(node_options(options)));
        words.push_back("127.0.0.1:" + std::to_string(nodes_.back()->port()));
    }
    words.insert(words.end(),
                 {"--cluster-replicas", options.with_replicas ? "1" : "0", "--cluster-yes"});
    run_command(words);
    wait_until_whole();
}

std::string redis_cluster::hosts() const {
    std::string all;
    for (const auto& node : nodes_)
        all += (all.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(node->port());
    return all;
}

void redis_cluster::wait_until_whole() {
    const auto give_up = lease_clock::now() + give_up_after;
    for (const auto& node : nodes_)
        while (node->ask({"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos) {
            if (lease_clock::now() > give_up)
                throw std::runtime_error{"the cluster is not whole after a minute"};
            poll(nullptr, 0, 10);
        }
    const auto timeout = std::to_string(node_timeout_.count());
    for (const auto& node : nodes_) node->ask({"CONFIG", "SET", "cluster-node-timeout", timeout});
}

std::string redis_cluster::id_of(std::size_t which) { return node(which).ask({"CLUSTER", "MYID"}); }

std::size_t redis_cluster::owner_of(std::size_t slot, std::size_t asked) {
    std::istringstream lines{node(asked).ask({"CLUSTER", "SLOTS"})};
    // Flattened: first, last, then host, port and id of the master and of each replica.
    std::vector<std::string> words;
    for (std::string line; std::getline(lines, line);) words.push_back(line);
    for (std::size_t i = 0; i + 4 < words.size(); ++i) {
        if (words[i + 2] != "127.0.0.1" ||
            words[i + 1].find_first_not_of("0123456789") != std::string::npos)
            continue;
        if (words[i].empty() || words[i].find_first_not_of("0123456789") != std::string::npos)
            continue;
        if (slot < std::stoul(words[i]) || slot > std::stoul(words[i + 1])) continue;
        for (std::size_t which = 0; which < nodes_.size(); ++which)
            if (std::to_string(nodes_[which]->port()) == words[i + 3]) return which;
    }
    throw std::runtime_error{"no node serves slot " + std::to_string(slot)};
}

void redis_cluster::begin_move(std::size_t slot, std::size_t from, std::size_t to) {
    const auto number = std::to_string(slot);
    node(to).ask({"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(from)});
    node(from).ask({"CLUSTER", "SETSLOT", number, "MIGRATING", id_of(to)});
}

void redis_cluster::move_keys(std::size_t slot, std::size_t from, std::size_t to) {
    for (;;) {
        std::istringstream names{
            node(from).ask({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "10"})};
        std::vector<std::string> words{"MIGRATE", "127.0.0.1", std::to_string(node(to).port()),
                                       "",        "0",         "5000",
                                       "REPLACE", "KEYS"};
        const auto fixed = words.size();
        for (std::string name; std::getline(names, name);) words.push_back(name);
        if (words.size() == fixed) return;
        node(from).ask(words);
    }
}

void redis_cluster::finish_move(std::size_t slot, std::size_t from, std::size_t to) {
    move_keys(slot, from, to);
    const auto number = std::to_string(slot), id = id_of(to);
    // The new owner first, or the slot would have none for a moment. The others would hear of it
    // from each other, some time.
    node(to).ask({"CLUSTER", "SETSLOT", number, "NODE", id});
    for (std::size_t other = 0; other < masters_; ++other)
        if (other != to) node(other).ask({"CLUSTER", "SETSLOT", number, "NODE", id});
    wait_until_moved(slot, to);
}

// A node that has been told of the new owner, but not yet of the epoch in which it took the slot,
// still believes an older message of the former owner: whoever asks it then is sent back.
void redis_cluster::wait_until_moved(std::size_t slot, std::size_t to) {
    const auto id = id_of(to);
    const auto epoch = epoch_of(id, to);
    const auto give_up = lease_clock::now() + give_up_after;
    for (std::size_t asked = 0; asked < nodes_.size(); ++asked)
        while (epoch_of(id, asked) < epoch || owner_of(slot, asked) != to) {
            if (lease_clock::now() > give_up)
                throw std::runtime_error{"slot " + std::to_string(slot) +
                                         " has not moved after a minute"};
            poll(nullptr, 0, 5);
        }
}

long long redis_cluster::epoch_of(const std::string& id, std::size_t asked) {
    std::istringstream lines{node(asked).ask({"CLUSTER", "NODES"})};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        // id, address, flags, master, ping sent, pong received, epoch
        std::vector<std::string> fields{std::istream_iterator<std::string>{words}, {}};
        if (fields.size() > 6 && fields[0] == id) return std::stoll(fields[6]);
    }
    throw std::runtime_error{"a node of the cluster does not know " + id};
}

void redis_cluster::restart() {
    for (const auto& node : nodes_) node->restart();
    wait_until_whole();
}

// All at once, as a power cut does it: a node's quarantine is counted in whole seconds since its
// start.
void redis_cluster::lose_data() {
    constexpr int attempts_max = 50;
    std::set<long long> starts;
    for (int i = 0; starts.size() != 1; ++i) {
        if (i == attempts_max) throw std::runtime_error{"the nodes do not start in one second"};
        starts.clear();
        for (const auto& node : nodes_) node->crash();
        for (const auto& node : nodes_) node->forget();
        for (const auto& node : nodes_) node->launch();
        for (const auto& node : nodes_) {
            node->wait_until_ready();
            starts.insert(started_at(*node));
        }
    }
    wait_until_whole();
}

}  // namespace pawl::testing_servers
