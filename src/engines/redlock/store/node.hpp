// One of the servers that vote: its connection, whether it answers at the moment, and what it still
// has to be told.
//
// A node that is down is left out while the others suffice, so that nothing waits for it; meanwhile
// it is asked in the background until it answers. What it must hear all the same, such as that a
// claim was given up, is owed to it, and told when it is back.
#pragma once

#include "engines/redis/client/pipeline.hpp"
#include "engines/redis/client/script.hpp"
#include "engines/redis/client/subscriber.hpp"
#include "net/attachment.hpp"
#include "net/boot_timer.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::redlock {

// What a node said: an error reply is a failure already.
using node_answer = result<redis::reply>;
using answer_taker = std::function<void(node_answer)>;

// Used on its loop only, but for close_from_anywhere.
class node : public net::attached, public std::enable_shared_from_this<node> {
public:
    static constexpr std::size_t pending_max = 4096;

    static std::shared_ptr<node> make(net::loop& where,
                                      std::shared_ptr<const redis::redis_settings> settings);
    // Use make().
    node(net::loop& where, std::shared_ptr<const redis::redis_settings> settings);

    const std::string& place() const noexcept { return place_; }
    const std::shared_ptr<redis::subscriber>& subscriber() const noexcept { return subscriber_; }

    // Each ends in one call of the taker, on the loop, and never before it returns. A failure is
    // `unreachable` when nothing was sent, else `outcome_unknown`.
    void ask(redis::script_call call, instant deadline, answer_taker taker);
    // A script by which the node promises something: what(life) makes the call. Under quarantine it
    // names the life of the server that it is meant for, so there must be a connection first.
    // With store_down::fail the answer is `unreachable` with the first attempt to connect that
    // fails, as it is for a call that says so itself.
    template <class Vow>
    void ask_for(Vow what, instant deadline, answer_taker taker,
                 store_down unconnected = store_down::retry) {
        if (!settings_->common.quarantine || link_->is_connected())
            return ask(what(life()), deadline, guarded(std::move(taker)));
        ask_when_connected(guarded_script{std::move(what)}, deadline, unconnected,
                           std::move(taker));
    }
    // Commands as they are.
    void ask_plainly(std::string_view commands, std::size_t count, instant deadline,
                     answer_taker taker);

    // About the certificate of the connection that stands; nothing without one, or without TLS.
    std::optional<finding> examine_tls() { return link_->examine_tls(); }

    // The last request to it failed, and none has succeeded since.
    bool is_down() const noexcept { return why_down_.has_value(); }
    failure why_down() const { return *why_down_; }
    // A caller would like to use a node that is down: it is tried until it answers.
    void want();

    // Told as soon as the node answers, or never if that is later than `until`.
    void retry_later(redis::script_call call, instant until);

    // Thread-safe. No caller waits for an answer any more.
    void close_from_anywhere();

private:
    // Makes a call of a script by which a node promises something; `life` is its first argument.
    using guarded_script = std::function<redis::script_call(const std::string& life)>;

    struct pending_command {
        redis::script_call call;
        instant until;
    };

    // The taker, by way of which the node is known to have met the data that the promise was about.
    answer_taker guarded(answer_taker taker);
    void send(std::string_view commands, std::size_t count, instant deadline,
              store_down unconnected, answer_taker taker);
    void ask_when_connected(const guarded_script& what, instant deadline, store_down unconnected,
                            answer_taker taker);
    void heard(redis::answer got, const answer_taker& taker);
    std::string life() const;
    void note_failure(const failure& why);
    void note_answer();
    void settle();
    bool drop_late_commands();
    bool is_worth_trying();
    static boost::asio::awaitable<void> keep_trying(std::shared_ptr<node> self);

    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const redis::redis_settings> settings_;
    const std::string place_;
    const net::byte_stream::executor_type executor_;
    const std::shared_ptr<redis::pipeline> link_;
    const std::shared_ptr<redis::subscriber> subscriber_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::optional<failure> why_down_;
    instant wanted_until_{};
    bool met_ = false;  // it has made a promise, or rejected one, so its data has a marker
    bool trying_ = false;
    bool settling_ = false;
    bool rejects_ = false;      // what it was to be told last: it cannot write for now
    std::size_t rejected_ = 0;  // pending commands in a row, since the last pause
    bool closed_ = false;
    std::deque<pending_command> pending_;
    std::optional<net::boot_timer> pause_;  // empty once the loop has ended
    std::string scratch_;  // the command being encoded; copied before anybody else encodes
};

}  // namespace pawl::redlock
