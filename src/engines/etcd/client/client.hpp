// Requests to an etcd cluster: one node at a time, the next when that one does not serve.
//
// gRPC works on threads of its own; what they have to say is posted to the loop. A caller that
// blocks and finds nothing else under way makes the call on its own thread instead, which costs no
// switch between threads at all.
#pragma once

#include "engines/etcd/client/error_mapping.hpp"
#include "engines/etcd/client/etcd_settings.hpp"
#include "engines/etcd/client/probe.hpp"
#include "engines/etcd/client/wire.pb.h"
#include "net/attachment.hpp"
#include "net/backoff.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"

#include <pawl/errors.hpp>
#include <pawl/options.hpp>
#include <pawl/spi/async.hpp>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::etcd {

// The paths of etcd's methods.
namespace method {
constexpr const char* range = "/etcdserverpb.KV/Range";
constexpr const char* txn = "/etcdserverpb.KV/Txn";
constexpr const char* lease_grant = "/etcdserverpb.Lease/LeaseGrant";
constexpr const char* lease_revoke = "/etcdserverpb.Lease/LeaseRevoke";
constexpr const char* lease_time_to_live = "/etcdserverpb.Lease/LeaseTimeToLive";
constexpr const char* lease_keep_alive = "/etcdserverpb.Lease/LeaseKeepAlive";
constexpr const char* watch = "/etcdserverpb.Watch/Watch";
constexpr const char* authenticate = "/etcdserverpb.Auth/Authenticate";
constexpr const char* status = "/etcdserverpb.Maintenance/Status";
constexpr const char* alarm = "/etcdserverpb.Maintenance/Alarm";
}  // namespace method

// Messages as gRPC carries them.
grpc::ByteBuffer pack(const google::protobuf::MessageLite& message);
bool unpack(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

// A channel to a node, at an address that its name led to, with the settings of a store. A file
// that cannot be read is `denied`.
result<std::shared_ptr<grpc::Channel>> make_channel(const base::endpoint& where,
                                                    const std::string& address,
                                                    const etcd_settings& settings);

// How long a request may take, and whether it waits meanwhile for a node that can be reached: with
// store_down::fail it is `unreachable` with the first round over the nodes that fails.
struct request_limits {
    request_limits(instant until, store_down when_down = store_down::retry)
        : deadline{until}, unconnected{when_down} {}
    instant deadline;
    store_down unconnected;
};

// Used on its loop only, but for close_from_anywhere.
class client : public net::attached, public std::enable_shared_from_this<client> {
public:
    static std::shared_ptr<client> make(net::loop& where,
                                        std::shared_ptr<const etcd_settings> settings);
    // Use make().
    client(net::loop& where, std::shared_ptr<const etcd_settings> settings);

    const etcd_settings& settings() const noexcept { return *settings_; }
    // The application's channel finds the nodes, and shows neither their clock nor their TLS.
    bool is_lent() const noexcept { return settings_->lent_by != nullptr; }
    const net::loop::executor_type& executor() const noexcept { return executor_; }
    const std::shared_ptr<net::attachment>& attachment() const noexcept { return attachment_; }
    instant deadline() const { return lease_clock::now() + settings_->common.timeout; }

    // Ends when a node is ready to serve, or says why none is. Cancellable.
    async<void> ready(request_limits limits);
    // One request with its answer. Cancellable where no thread blocks for it.
    template <class Response>
    async<Response> ask(const char* path, const google::protobuf::MessageLite& request, effect what,
                        request_limits limits) {
        const auto bytes = pack(request);
        const auto got = co_await exchange(path, bytes, what, limits);
        if (got.has_error()) co_return got.error();
        Response answer;
        if (!unpack(*got, answer)) co_return unreadable_answer(present_place(), path, what);
        co_return answer;
    }

    // The same at one certain node, ready or not, for an examination.
    async<wire::StatusResponse> ask_status(std::size_t node, instant deadline);
    std::size_t nodes() const noexcept { return nodes_.size(); }
    const std::string& place(std::size_t node) const { return nodes_[node].place; }

    // What a long stream needs: the channel to the present node and the metadata of a login.
    // REQUIRES: ready() has ended well.
    std::shared_ptr<grpc::Channel> channel() const { return nodes_[current_].channel; }
    const std::string& present_place() const { return nodes_[current_].place; }
    void dress(grpc::ClientContext& context, bool needs_leader) const;
    // A stream has failed: what it says about the node, or the login, is remembered.
    failure note_stream_end(const grpc::Status& status, effect what);

    // Of the present node, at most a minute old; up to an hour where it cannot be read anew, as it
    // runs on by our own clock.
    async<clock_reading> clock(request_limits limits);
    // Of the present node, when it was last asked. REQUIRES: ready() has ended well.
    const node_facts& facts() const { return *facts_; }

    // Thread-safe. No caller waits any more.
    void close_from_anywhere();

private:
    struct node {
        base::endpoint where;
        std::string place;
        std::string address;  // of the channel
        std::shared_ptr<grpc::Channel> channel;
    };
    struct exchanged;
    class pending;

    async<grpc::ByteBuffer> exchange(const char* path, grpc::ByteBuffer request, effect what,
                                     request_limits limits);
    async<grpc::ByteBuffer> exchange_once(const char* path, grpc::ByteBuffer request, effect what,
                                          request_limits limits, remedy& cure, std::string& used);
    boost::asio::awaitable<grpc::Status> call(std::shared_ptr<exchanged> what, const char* path,
                                              instant deadline);

    static boost::asio::awaitable<void> connect(std::shared_ptr<client> self);
    async<void> dial_any();
    async<void> dial(std::size_t index, instant deadline);
    async<node_facts> reach(std::size_t index, instant deadline);
    async<node_facts> borrow(std::size_t index, instant deadline);
    async<void> look(std::size_t index, instant deadline);
    async<void> log_in(instant deadline);
    async<void> log_in_again(std::string expired, instant deadline);
    void settle(std::optional<failure> why);
    void leave_node();
    void wake(store_down which);

    void close();
    void loop_ends() override;

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<const etcd_settings> settings_;
    const net::loop::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::vector<node> nodes_;
    std::size_t current_ = 0;
    bool connected_ = false;
    bool connecting_ = false;
    net::event closed_;  // or the loop has ended
    std::optional<node_facts> facts_;
    instant clock_not_before_{};  // is it read anew, as that has failed
    std::string token_;           // of the login; empty: none
    bool logging_in_ = false;     // again
    net::event logged_in_;        // or could not
    instant not_before_{};
    std::optional<failure> last_failure_;
    std::map<net::event*, store_down> waiting_;   // for a node
    std::map<std::uint64_t, net::event*> calls_;  // for an answer
    std::uint64_t last_call_ = 0;
    net::backoff retries_;
};

}  // namespace pawl::etcd
