// One handle of ZooKeeper's C client, the variant without threads: it reads, writes and connects
// only inside the calls below, so the thread that waits for its socket drives it.
//
// What the C client says inside those calls is kept until take_events(), so that who is told may
// ask it anew, or bury it.
//
// It closes the session, and with it frees every lease, when its handle is closed; so a handle that
// still holds leases is buried instead: kept until they have ended.
#pragma once

#include "engines/zookeeper/client/request.hpp"
#include "engines/zookeeper/client/zookeeper_settings.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the client library's own name

namespace pawl::zookeeper {

enum class link_state { connecting, connected, read_only, expired, rejected };

// How the session is now; or the number of the exchange that has been answered; or a znode that was
// watched and is gone or has changed: each watch is told once.
using handle_event = std::variant<link_state, std::uint64_t, std::string>;

// What the C client waits for.
struct handle_wants {
    // Which of its sockets, counted from 1, as numbers of descriptors come back; 0: it has none.
    std::uint64_t link = 0;
    int socket = -1;  // the C client's, which may close it in any call
    bool write = false;
    instant by = instant::max();  // when attend() is due whatever happens
};

// One request of the C client and the room for its answer.
struct exchange;

// Used by one thread at a time. Blocks nowhere but in its destructor.
class client_handle {
public:
    // Tries the addresses in that order.
    static result<std::unique_ptr<client_handle>> open(const zookeeper_settings& settings,
                                                       const std::vector<server>& addresses,
                                                       millis timeout);
    // Closes the session; blocks for that, for 1.5 s when the server does not answer.
    ~client_handle();
    client_handle(const client_handle&) = delete;
    client_handle& operator=(const client_handle&) = delete;

    // Hands the request to the C client, which writes it as far as the socket takes it. Its code;
    // where that is 0, an event tells of the answer, sooner or later.
    int submit(std::uint64_t number, request asked);
    // The answer that an event told of; it is gone afterwards.
    result<answer> take(std::uint64_t number, std::string_view place);

    // Takes what the server has sent, or writes what waits for the socket, which is ready for it.
    void read();
    void write();
    // Connects, sends heartbeats and gives a silent server up, where one of them is due. To be
    // called after any other call here.
    handle_wants attend();
    std::vector<handle_event> take_events() { return std::exchange(events_, {}); }
    bool has_events() const noexcept { return !events_.empty(); }

    // What the server granted, which may be less than was asked.
    millis negotiated_timeout() const;
    std::int64_t session_id() const;

    // Breaks the connection, not the session: the client connects again, to another server first.
    void shake();
    // Where the servers are from the next connection on.
    void move_to(const std::vector<server>& addresses);

    struct callbacks;

private:
    client_handle() = default;

    bool has_socket() const;
    bool is_ready(short direction) const;
    void gather_writes();
    void send_gathered();
    void fail_what_was_sent();
    void change_servers();

    access who_ = access::open;
    _zhandle* handle_ = nullptr;
    int socket_ = -1;
    std::uint64_t links_ = 0;
    bool connected_ = false;
    bool gathering_ = false;
    std::string hosts_;
    std::string next_hosts_;  // empty: the same
    std::vector<handle_event> events_;
    // Alive until the C client has answered, or is closed.
    std::unordered_map<std::uint64_t, std::unique_ptr<exchange>> exchanges_;
    std::size_t unanswered_ = 0;
};

}  // namespace pawl::zookeeper
