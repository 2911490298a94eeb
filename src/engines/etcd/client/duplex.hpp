// One long stream of gRPC, in both directions: lease renewals, or watches.
//
// gRPC calls it on threads of its own. What arrives is gathered and handed to the loop in one go,
// however much it is by then.
#pragma once

#include "net/attachment.hpp"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace pawl::etcd {

class duplex;

// The owner of a stream. Called on the loop.
class stream_user {
public:
    virtual ~stream_user() = default;
    virtual void received(const std::shared_ptr<duplex>& from,
                          const std::vector<grpc::ByteBuffer>& messages) = 0;
    // Called once, after the last message.
    virtual void ended(const std::shared_ptr<duplex>& from, const grpc::Status& status) = 0;
};

// Thread-safe. Lives until the stream has ended, whatever lets go of it.
class duplex : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
               public std::enable_shared_from_this<duplex> {
public:
    duplex(std::shared_ptr<grpc::Channel> channel, std::shared_ptr<net::attachment> home,
           std::weak_ptr<stream_user> user)
        : channel_{std::move(channel)}, home_{std::move(home)}, user_{std::move(user)} {}

    // Before start(): for metadata.
    grpc::ClientContext& context() noexcept { return context_; }
    void start(const char* path);

    // All of them together; dropped when the stream has ended.
    void send(std::vector<grpc::ByteBuffer> messages);
    void cancel() { context_.TryCancel(); }

private:
    void OnReadDone(bool ok) override;
    void OnWriteDone(bool ok) override;
    void OnDone(const grpc::Status& status) override;

    // REQUIRES, both: mutex_ is held.
    void write_next();
    void hand_over();
    void deliver();

    // Constant after start()
    const std::shared_ptr<grpc::Channel> channel_;
    const std::shared_ptr<net::attachment> home_;
    const std::weak_ptr<stream_user> user_;

    // gRPC's, one call at a time
    grpc::ClientContext context_;
    grpc::ByteBuffer incoming_, outgoing_;

    std::mutex mutex_;
    // Under mutex_
    std::shared_ptr<duplex> alive_;  // until OnDone
    std::deque<grpc::ByteBuffer> unsent_;
    std::vector<grpc::ByteBuffer> unread_;
    bool writing_ = false;
    bool broken_ = false;
    bool posted_ = false;
};

}  // namespace pawl::etcd
