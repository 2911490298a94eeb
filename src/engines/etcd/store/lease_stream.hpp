// Renewals of etcd leases: one stream for the whole store, whatever is due pipelined in it.
#pragma once

#include "engines/etcd/client/client.hpp"
#include "engines/etcd/client/duplex.hpp"
#include "net/event.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace pawl::etcd {

class lease_stream;

// Leases whose time begins anew. Lives in the frame of a coroutine, from begin() to ended().
class beat {
public:
    explicit beat(std::shared_ptr<lease_stream> on);
    ~beat();
    beat(const beat&) = delete;
    beat& operator=(const beat&) = delete;

    // REQUIRES: the client is ready. Sends, and does not wait.
    void begin(const std::vector<std::int64_t>& leases);
    // The seconds that each has now, 0 for one that is gone; a failure means unknown for all.
    async<std::vector<std::int64_t>> ended(instant deadline);

private:
    friend class lease_stream;

    const std::shared_ptr<lease_stream> on_;
    const std::uint64_t number_;
    std::vector<std::int64_t> seconds_;
    std::size_t missing_ = 0;
    std::optional<failure> why_;
    net::event done_;
};

// On the loop only, but for close_from_anywhere.
class lease_stream : public stream_user, public std::enable_shared_from_this<lease_stream> {
public:
    explicit lease_stream(std::shared_ptr<client> through) : through_{std::move(through)} {}
    // The stream would be gRPC's for ever, and with it its channel.
    ~lease_stream() override {
        if (stream_) stream_->cancel();
    }
    lease_stream(const lease_stream&) = delete;
    lease_stream& operator=(const lease_stream&) = delete;

    // Of one lease.
    async<std::int64_t> keep_alive(std::int64_t lease, instant deadline);

    // Thread-safe.
    void close_from_anywhere();

private:
    friend class beat;
    struct place {
        std::uint64_t beat;
        std::size_t index;
    };

    void send(const std::vector<std::int64_t>& leases, std::uint64_t number);
    void received(const std::shared_ptr<duplex>& from,
                  const std::vector<grpc::ByteBuffer>& messages) override;
    void ended(const std::shared_ptr<duplex>& from, const grpc::Status& status) override;
    void take(const wire::LeaseKeepAliveResponse& answer);
    void give_up_stream(const failure& why);

    const std::shared_ptr<client> through_;
    std::shared_ptr<duplex> stream_;
    std::uint64_t beats_ = 0;
    std::map<std::uint64_t, beat*> under_way_;
    // etcd answers in order; the same lease may be asked for twice.
    std::unordered_map<std::int64_t, std::deque<place>> expected_;
};

}  // namespace pawl::etcd
