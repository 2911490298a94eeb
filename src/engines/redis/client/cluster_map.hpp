// Which node of a Redis Cluster serves which shard, as far as we know, and the connections to them.
//
// The map is read when it is first needed, and again when a node says that it is wrong or does not
// answer. A wrong map is harmless: every node knows what it serves.
#pragma once

#include "engines/redis/client/pipeline.hpp"
#include "engines/redis/client/slots.hpp"
#include "engines/redis/client/subscriber.hpp"
#include "net/attachment.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"

#include <boost/asio/awaitable.hpp>

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace pawl::redis {

// One Redis as a store uses it: a connection for requests, and one for what it is told.
struct server {
    server_address at;
    std::shared_ptr<pipeline> link;
    std::shared_ptr<subscriber> ears;
};
using server_ptr = std::shared_ptr<server>;

// Used on its loop only, but for close_from_anywhere.
class cluster_map : public net::attached, public std::enable_shared_from_this<cluster_map> {
public:
    static std::shared_ptr<cluster_map> make(net::loop& where,
                                             std::shared_ptr<const redis_settings> settings);
    // Use make().
    cluster_map(net::loop& where, std::shared_ptr<const redis_settings> settings);

    // Null while no server is known to serve it.
    const server_ptr& at(std::size_t shard) const { return shards_.at(shard); }
    // The node at this address, known or new.
    server_ptr node(const server_address& where);
    // The same for an address that a node has named: of too many, those that are no masters go.
    server_ptr stranger(const server_address& where);
    // The masters of all shards, each once.
    std::vector<server_ptr> masters() const;

    // A node said so.
    void moved(std::size_t slot, const server_address& to);
    // Reads the map anew; ends when that is done, has failed, or the deadline has come.
    async<void> refresh(instant deadline);
    // The same in the background.
    void refresh_soon();

    // Thread-safe. No caller waits for an answer any more.
    void close_from_anywhere();

private:
    struct answers;
    static boost::asio::awaitable<void> ask(server_ptr whom, std::shared_ptr<answers> into);
    static boost::asio::awaitable<void> read_map(std::shared_ptr<cluster_map> self);
    // What the answer to CLUSTER SLOTS is worth.
    result<void> take(const result<reply>& said, const server& told_by);
    std::vector<server_ptr> candidates();
    result<void> apply(const reply& slots, const server& told_by);
    void retire_strangers();

    void close();
    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    net::loop& loop_;
    const net::byte_stream::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::array<server_ptr, cluster_shards> shards_;
    std::map<server_address, server_ptr> nodes_;
    bool reading_ = false;
    bool closed_ = false;
    instant read_at_{};
    result<void> last_read_;
    net::event read_;  // told whenever it has been read, or could not be
};

}  // namespace pawl::redis
