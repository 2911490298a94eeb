// A real Redis Cluster for tests: masters, each with or without a replica.
#pragma once

#include "test_support/servers/redis_server.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_servers {

struct redis_cluster_options {
    std::size_t masters = 3;
    bool with_replicas = false;  // one for each master, behind the masters in `node`
    redis_persistence persistence = redis_persistence::none;
    std::vector<std::string> users{};  // ACL lines without the word "user"
    // Silence, until the others give a node up: all say then that the cluster is down, and so for
    // some seconds after it is back.
    std::chrono::milliseconds node_timeout{1000};
};

// Takes about two seconds to be ready. Not thread-safe.
class redis_cluster {
public:
    explicit redis_cluster(redis_cluster_options options = {});

    std::size_t size() const noexcept { return nodes_.size(); }
    redis_server& node(std::size_t which) { return *nodes_.at(which); }
    // Of all nodes, such as 127.0.0.1:7001,127.0.0.1:7002.
    std::string hosts() const;

    // The number of the node that serves a slot now, as the asked node knows it.
    std::size_t owner_of(std::size_t slot, std::size_t asked = 0);
    // Moves a slot with what is in it, while the first nodes are the masters. `between` is called
    // while it is half moved: the target is importing, the source is migrating, and nothing has
    // been moved yet.
    template <class Between>
    void move_slot(std::size_t slot, std::size_t from, std::size_t to, Between between) {
        begin_move(slot, from, to);
        between();
        finish_move(slot, from, to);
    }
    void begin_move(std::size_t slot, std::size_t from, std::size_t to);
    void move_keys(std::size_t slot, std::size_t from, std::size_t to);
    // Returns when every node knows the new owner for good.
    void finish_move(std::size_t slot, std::size_t from, std::size_t to);

    // Each returns when every node says again that all is well.
    void restart();  // all nodes, ended in good order
    void
    lose_data();  // all nodes, killed and wiped, but for who they are and which slots they have
    void wait_until_whole();

private:
    std::string id_of(std::size_t which);
    void wait_until_moved(std::size_t slot, std::size_t to);
    // The configuration epoch of the node with this id, as the asked node knows it.
    long long epoch_of(const std::string& id, std::size_t asked);

    const std::size_t masters_;
    const std::chrono::milliseconds node_timeout_;
    std::vector<std::unique_ptr<redis_server>> nodes_;
};

}  // namespace pawl::testing_servers
