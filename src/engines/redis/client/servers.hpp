// The Redis servers behind one store, alone, behind sentinels or sharded: sends each call to the
// one that serves it, and follows when that is another.
//
// What surely had no effect (a redirection, a replica's rejection, a server that is not there) is
// sent again within the deadline; anything else is the caller's to judge.
#pragma once

#include "engines/redis/client/cluster_map.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/client/script.hpp"
#include "engines/redis/client/sentinels.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::redis {

// What becomes of a call with several keys while some of them are on another node already.
enum class on_split {
    wait,  // it is sent again until they are together
    tell   // the error reply is the answer: the caller sends its keys one by one
};

struct sharded_call {
    script_call call;
    std::size_t shard;
};

// Used on its loop only, but for close_from_anywhere.
class servers : public std::enable_shared_from_this<servers> {
public:
    static std::shared_ptr<servers> make(net::loop& where,
                                         std::shared_ptr<const redis_settings> settings);
    // Use make().
    servers(net::loop& where, std::shared_ptr<const redis_settings> settings);

    bool is_cluster() const noexcept { return map_ != nullptr; }
    const std::shared_ptr<sentinels>& watched_by() const noexcept { return sentinels_; }

    // One call of a script. Its reply; with confirmations wanted, an array of that and of how many
    // replicas have it. An error reply becomes a failure, but for on_split::tell.
    async<reply> run(const script_call& call, std::size_t shard, on_split how = on_split::wait);
    // Many calls, all of a node in one write, each to be answered as by run with on_split::tell.
    boost::asio::awaitable<std::vector<answer>> run_all(std::vector<sharded_call> calls);

    // What people call them: the one that is, or was last, dialled, or nodes of the cluster.
    std::string place() const;
    // Who serves a shard now.
    async<server_ptr> of(std::size_t shard, instant deadline);
    // Every server that is written to.
    async<std::vector<server_ptr>> all(instant deadline);

    instant deadline_from_now() const;
    // Thread-safe. No caller waits for an answer any more.
    void close_from_anywhere();

private:
    enum class form { by_digest, with_text };
    // One call on its way: to whom, how, and what came of it.
    struct attempt {
        server_ptr to;
        server_ptr unreached{};  // of a cluster: what the last attempt went to
        form how = form::by_digest;
        bool asking = false;  // the node is to answer though the slot is not yet its own
        answer got = failure{errc::unreachable, "not sent yet"};
    };
    enum class next_step { finished, again, later };
    struct many;

    std::size_t encode(const script_call& call, const server& to, form how, std::string& out) const;
    void append_wait(std::string& out) const;
    const reply& said_in(const script_call& call, const answer& got) const;
    next_step judge(const script_call& call, std::size_t shard, on_split how, attempt& last);
    next_step follow(const redirection& where, attempt& last);
    async<reply> finish(const script_call& call, std::size_t shard, on_split how, instant begun,
                        std::unique_ptr<attempt> first);
    async<reply> persist(const script_call& call, std::size_t shard, on_split how, instant deadline,
                         attempt last, next_step next);
    async<void> greet(const server_ptr& to, instant deadline, store_down unconnected);
    boost::asio::awaitable<void> pause(instant deadline, int round);

    boost::asio::awaitable<void> send_round(std::shared_ptr<many> work);
    static boost::asio::awaitable<void> send_group(std::shared_ptr<servers> self,
                                                   std::shared_ptr<many> work, server_ptr to,
                                                   std::vector<std::size_t> which);
    void sort_answers(many& work, const server_ptr& to, const std::vector<std::size_t>& which,
                      answer got);

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    const net::byte_stream::executor_type executor_;
    std::shared_ptr<sentinels> sentinels_;  // null without
    server_ptr only_;                       // null in a cluster
    std::shared_ptr<cluster_map> map_;      // null unless in a cluster

    // On the loop only
    std::string scratch_;  // the command being encoded; copied before anybody else encodes
    std::minstd_rand random_;
};

// Too few replicas have what was written.
failure unconfirmed(const std::string& place, std::int64_t have, const redis_settings& settings);

}  // namespace pawl::redis
