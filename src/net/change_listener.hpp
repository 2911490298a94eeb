// The connection on which a server tells that something changed; opened at the first wait.
//
// What is told can be lost: with the connection, or before the server counts us among those whom it
// tells. So a waiter looks at what it waits for once that wait is confirmed, and a lost
// connection ends every wait. How to connect, and what the server says, the engine knows.
#pragma once

#include "net/attachment.hpp"
#include "net/backoff.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::net {

class change_watch;

// Used on its loop only, but for close_from_anywhere.
class change_listener : public attached, public std::enable_shared_from_this<change_listener> {
public:
    // For ever.
    void close();
    // Thread-safe. No caller waits any more.
    void close_from_anywhere();

protected:
    // Those who wait for one name.
    struct place {
        std::uint64_t number = 0;  // tells it from an earlier one of the same name
        bool confirmed = false;
        std::vector<change_watch*> watches;
    };

    explicit change_listener(loop& where)
        : executor_{where.get_executor()}, retries_{where.clocks().seed()} {}
    // By the code that makes one, once it is shared.
    void attach_to(loop& where) {
        attachment_ = net::attach(where.get_executor(), weak_from_this());
    }

    // Connects; those who wait already are confirmed soon after, or later.
    virtual async<void> open() = 0;
    // Until the connection is lost, or is of no use.
    virtual boost::asio::awaitable<void> listen() = 0;
    // Closes the connection, if there is one.
    virtual void disconnect() = 0;
    // Trying again may help.
    virtual bool may_pass(const failure& why) const = 0;
    virtual bool has_work() const { return !is_closed() && !places_.empty(); }
    // The first waiter for a name has come; the last one has gone.
    virtual void name_came(const std::string& name, place& where) = 0;
    virtual void name_left(const std::string&, const place&) {}
    // How long a wait may take to be confirmed, and what has failed then.
    virtual millis confirmation_bound() const = 0;
    virtual failure unconfirmed() const = 0;

    static void confirm(place& where);
    static void tell(place& where);
    static void reject(place& where, const failure& why);
    void reject_all(const failure& why);

    // The loop may have ended.
    bool is_closed() const noexcept { return closed_; }
    // Ends the pause between two attempts to connect.
    void reconnect_now() { reconnects_now_.set(); }
    // A store may outlive its loop; what does I/O must not, so the engine lets go of it as well.
    void loop_ends() override { closed_ = true; }

    // Constant after construction
    const loop::executor_type executor_;
    // On the loop only
    std::map<std::string, place, std::less<>> places_;

private:
    friend class change_watch;

    void join(change_watch& who);
    void leave(change_watch& who);
    static boost::asio::awaitable<void> run(std::shared_ptr<change_listener> self);
    void retire_attempt(const failure& why);
    void back_off();
    void lose();

    std::shared_ptr<attachment> attachment_;
    // On the loop only
    bool running_ = false;
    bool closed_ = false;
    std::uint64_t numbers_ = 0;
    event reconnects_now_;
    instant not_before_{};
    backoff retries_;
};

// One coroutine that waits for one name. Is told of it from its construction to its destruction.
class change_watch {
public:
    change_watch(std::shared_ptr<change_listener> on, std::string name);
    ~change_watch();
    change_watch(const change_watch&) = delete;
    change_watch& operator=(const change_watch&) = delete;

    // Ends when changes are told from now on, or the wait is over already.
    async<void> confirmed();
    // Ends with the first change, or when the connection is lost.
    async<void> notified();

private:
    friend class change_listener;
    enum class state { requested, confirmed, notified, rejected };

    void become(state next);

    const std::shared_ptr<change_listener> on_;
    const std::string name_;
    event moved_;
    state state_ = state::requested;
    std::optional<failure> why_;
};

}  // namespace pawl::net
