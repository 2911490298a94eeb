// The queue in front of a key inside this process: one local claimer at a time asks the store, so
// that a thousand local waiters cost the store one.
#pragma once

#include "net/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace pawl::runtime {

class local_queue;

// The right to ask for a key, and to hold it. Gives the turn to the next in line when it goes.
class ticket {
public:
    ticket() = default;
    ticket(std::weak_ptr<local_queue> home, std::string key)
        : home_{std::move(home)}, key_{std::move(key)} {}
    ~ticket() { give_up(); }
    ticket(ticket&& other) noexcept : home_{std::move(other.home_)}, key_{std::move(other.key_)} {
        other.home_.reset();
    }
    ticket& operator=(ticket&& other) noexcept;

    void give_up() noexcept;
    // What was held under it is on its way back to the store: a caller that does not wait for a
    // busy key waits for that.
    void will_be_given_up() noexcept;

private:
    std::weak_ptr<local_queue> home_;
    std::string key_;
};

// One waiter's place in the queue; its owner may call it off, which ends every wait at it.
struct queue_waiter {
    net::event called_off;
    bool admitted = false;
    bool shares = false;  // another handle on a lease of this process is as good as a turn
};

// On the loop only.
class local_queue : public std::enable_shared_from_this<local_queue> {
public:
    std::optional<ticket> try_enter(const std::string& key);
    // First come, first served. Nothing when the time is up, the place was called off, or those who
    // share were woken.
    boost::asio::awaitable<std::optional<ticket>> enter(std::string key,
                                                        std::chrono::nanoseconds wait,
                                                        std::shared_ptr<queue_waiter> place);
    // What they wait for in vain is held here now: those who share it leave the line.
    void wake_those_who_share(const std::string& key);
    std::size_t waiting(const std::string& key) const;
    // Whether the turn will be given up by itself, and no caller waits for that yet.
    bool is_free_soon(const std::string& key) const;

private:
    friend class ticket;
    struct line {
        std::deque<std::shared_ptr<queue_waiter>> places;
        bool leaving = false;  // see ticket::will_be_given_up()
    };
    void leave(const std::string& key);

    std::unordered_map<std::string, line> lines_;
};

}  // namespace pawl::runtime
