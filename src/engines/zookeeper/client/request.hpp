// What is asked of ZooKeeper and what it answers, free of the C client's types.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pawl::zookeeper {

// The fields of a znode's Stat that anybody here reads.
struct node_stat {
    std::int64_t created_zxid = 0, modified_zxid = 0;
    std::int64_t created = 0, modified = 0;  // Unix milliseconds on the leader's clock
    std::int32_t version = 0;
    std::int32_t children = 0;
    std::int64_t owner = 0;  // the session of an ephemeral
};

constexpr int any_version = -1;

// One step of a transaction. All of them happen, or none.
struct operation {
    enum class kind { check, set, create, create_ephemeral, remove };

    operation(kind what, std::string path, std::string text = {}, int version = any_version)
        : what{what}, path{std::move(path)}, text{std::move(text)}, version{version} {}

    kind what;
    std::string path;
    std::string text;
    int version;
};

struct request {
    enum class kind {
        get,
        get_and_watch,
        exists,
        children,
        sync,
        set,
        create,
        remove,
        transaction
    };

    request(kind what, std::string path, std::string text = {}, int version = any_version)
        : what{what}, path{std::move(path)}, text{std::move(text)}, version{version} {}
    explicit request(std::vector<operation> steps)
        : what{kind::transaction}, version{any_version}, steps{std::move(steps)} {}

    // Whether it may have had an effect when its answer is lost.
    bool writes() const noexcept { return what >= kind::set; }

    kind what;
    std::string path;
    std::string text;
    int version;
    std::vector<operation> steps;
};

// What the tree had to say. Anything worse is a failure.
enum class finding_code { done, no_node, node_exists, bad_version, not_empty };

struct answer {
    finding_code code = finding_code::done;
    std::string text;
    node_stat stat;  // of get, exists, set; of a transaction: of its first `set`
    std::vector<std::string> names;
    std::size_t failed_step = 0;  // of a transaction that did not happen

    bool done() const noexcept { return code == finding_code::done; }
};

}  // namespace pawl::zookeeper
