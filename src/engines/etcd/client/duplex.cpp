#include "engines/etcd/client/duplex.hpp"

#include <grpcpp/generic/generic_stub.h>

#include <iterator>
#include <utility>

namespace pawl::etcd {

void duplex::start(const char* path) {
    {
        const std::lock_guard lock{mutex_};
        alive_ = shared_from_this();
    }
    grpc::GenericStub stub{channel_};
    stub.PrepareBidiStreamingCall(&context_, path, {}, this);
    // Writes begin outside gRPC's own calls: it must not think that all is done meanwhile.
    AddHold();
    StartRead(&incoming_);
    StartCall();
}

void duplex::send(std::vector<grpc::ByteBuffer> messages) {
    const std::lock_guard lock{mutex_};
    if (broken_) return;
    std::move(messages.begin(), messages.end(), std::back_inserter(unsent_));
    write_next();
}

void duplex::write_next() {
    if (writing_ || broken_ || unsent_.empty()) return;
    writing_ = true;
    outgoing_.Swap(&unsent_.front());  // it has no move
    unsent_.pop_front();
    grpc::WriteOptions how;
    if (!unsent_.empty()) how.set_buffer_hint();
    StartWrite(&outgoing_, how);
}

void duplex::OnWriteDone(bool ok) {
    const std::lock_guard lock{mutex_};
    writing_ = false;
    if (ok) write_next();
}

void duplex::OnReadDone(bool ok) {
    {
        const std::lock_guard lock{mutex_};
        if (ok) {
            unread_.push_back(incoming_);
            hand_over();
        } else {
            broken_ = true;
        }
    }
    if (ok)
        StartRead(&incoming_);
    else
        RemoveHold();
}

// One message to the loop for all that has come until it gets there.
void duplex::hand_over() {
    if (std::exchange(posted_, true)) return;
    home_->post([self = shared_from_this()] { self->deliver(); });
}

void duplex::deliver() {
    std::vector<grpc::ByteBuffer> messages;
    {
        const std::lock_guard lock{mutex_};
        posted_ = false;
        messages.swap(unread_);
    }
    const auto user = user_.lock();
    if (user && !messages.empty()) user->received(shared_from_this(), messages);
}

void duplex::OnDone(const grpc::Status& status) {
    std::shared_ptr<duplex> self;
    {
        const std::lock_guard lock{mutex_};
        self = std::move(alive_);
    }
    home_->post([self, status] {
        self->deliver();
        if (const auto user = self->user_.lock()) user->ended(self, status);
    });
}

}  // namespace pawl::etcd
