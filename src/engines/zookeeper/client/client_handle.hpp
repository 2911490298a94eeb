// One handle of ZooKeeper's C client, which has two threads of its own: one for the socket and one
// that runs the callbacks. Nothing of ours runs on them but copying an answer and posting it.
//
// The C client knows no timeout of a request, and gives a silent server up only after two thirds of
// the session's timeout; shake() makes it look for another server at once. It closes the session,
// and with it frees every lease, when its handle is closed; so a handle that still holds leases is
// buried instead: kept until they have ended.
#pragma once

#include "engines/zookeeper/client/request.hpp"
#include "engines/zookeeper/client/zookeeper_settings.hpp"
#include "net/attachment.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the client library's own name

namespace pawl::zookeeper {

enum class link_state { connecting, connected, read_only, expired, refused };

// Told on the loop.
class handle_listener : public net::attached {
public:
    virtual void state_changed(std::uint64_t handle, link_state state) = 0;
    virtual void answered(std::uint64_t exchange) = 0;
    // A znode that was watched is gone or has changed; each watch is told once.
    virtual void node_changed(std::string path) = 0;
};

// One request of the C client and the room for its answer.
struct exchange;

class client_handle {
public:
    // `number` comes back in state_changed(). Blocks while names are resolved.
    static result<std::unique_ptr<client_handle>> open(const zookeeper_settings& settings,
                                                       const std::vector<server>& order,
                                                       millis timeout, std::uint64_t number,
                                                       std::shared_ptr<net::attachment> home,
                                                       std::weak_ptr<handle_listener> listener);
    // Closes the session; blocks for that, for 1.5 s when the server does not answer.
    ~client_handle();
    client_handle(const client_handle&) = delete;
    client_handle& operator=(const client_handle&) = delete;

    // Hands the request to the C client, which answers by answered(number), sooner or later.
    // Returns its code.
    int submit(std::uint64_t number, request asked);
    // The answer that answered() announced; it is gone afterwards.
    result<answer> take(std::uint64_t number, std::string_view place);

    // What the server granted, which may be less than was asked.
    millis negotiated_timeout() const;
    std::int64_t session_id() const;

    // Breaks the connection, not the session: the client connects again, to another server first.
    void shake() const;

    struct callbacks;

private:
    client_handle(std::uint64_t number, std::shared_ptr<net::attachment> home,
                  std::weak_ptr<handle_listener> listener);

    const std::uint64_t number_;
    const std::shared_ptr<net::attachment> home_;
    const std::weak_ptr<handle_listener> listener_;
    access who_ = access::open;
    _zhandle* handle_ = nullptr;
    // Alive until the C client has answered, or is closed. On the loop only.
    std::unordered_map<std::uint64_t, std::unique_ptr<exchange>> exchanges_;
};

// Closes the handle at `when` on a thread of its own; never blocks. The process may end before:
// then the server ends the session after its timeout.
void bury(std::unique_ptr<client_handle> handle, instant when);

}  // namespace pawl::zookeeper
