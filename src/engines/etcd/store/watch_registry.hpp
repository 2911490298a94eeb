// Watches of single keys: one stream for all who wait in this store.
//
// A watch begins at the revision that its waiter has seen, so nothing falls between looking and
// waiting. Where a watch cannot go on, its waiter is told to look again.
#pragma once

#include "engines/etcd/client/client.hpp"
#include "engines/etcd/client/duplex.hpp"
#include "net/event.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace pawl::etcd {

class watch_registry;

// A watch of one key, from its construction to its destruction; in the frame of a coroutine.
class watch {
public:
    // From this revision on. REQUIRES: the client is ready.
    watch(std::shared_ptr<watch_registry> on, std::string key, std::int64_t from_revision);
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    // Ends when etcd has it, and answers the revision of that moment. A watch of a revision that is
    // past by then is told what it missed only after a while: look once more instead.
    async<std::int64_t> placed(instant deadline);
    // Ends when the key was deleted (true), or when this watch cannot tell any more (false).
    async<bool> deleted();

private:
    friend class watch_registry;

    const std::shared_ptr<watch_registry> on_;
    const std::int64_t id_;
    std::int64_t placed_at_ = 0;
    bool deleted_ = false;
    bool over_ = false;
    std::optional<failure> why_;
    net::event rung_;
};

// On the loop only, but for close_from_anywhere.
class watch_registry : public stream_user, public std::enable_shared_from_this<watch_registry> {
public:
    explicit watch_registry(std::shared_ptr<client> through) : through_{std::move(through)} {}
    // The stream would be gRPC's for ever, and with it its channel.
    ~watch_registry() override {
        if (stream_) stream_->cancel();
    }
    watch_registry(const watch_registry&) = delete;
    watch_registry& operator=(const watch_registry&) = delete;

    // Thread-safe.
    void close_from_anywhere();

private:
    friend class watch;

    void place(std::int64_t id, std::string key, std::int64_t from_revision);
    void remove(std::int64_t id);
    void received(const std::shared_ptr<duplex>& from,
                  const std::vector<grpc::ByteBuffer>& messages) override;
    void ended(const std::shared_ptr<duplex>& from, const grpc::Status& status) override;
    void take(const wire::WatchResponse& answer);

    const std::shared_ptr<client> through_;
    std::shared_ptr<duplex> stream_;
    std::int64_t last_id_ = 0;
    std::map<std::int64_t, watch*> watches_;
};

}  // namespace pawl::etcd
