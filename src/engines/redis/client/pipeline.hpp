// One connection to Redis, shared by all callers of a store: their commands go out in the order in
// which they were asked, many in one write, and the replies come back in the same order.
//
// One caller pays a send and a receive, as with a bare client: the command is handed to the kernel
// at once, and the deadline of a request costs no timer of its own. Many callers share both system
// calls: what gathers while replies are dealt out goes out in one write.
#pragma once

#include "engines/redis/client/locator.hpp"
#include "engines/redis/client/redis_settings.hpp"
#include "engines/redis/client/resp.hpp"
#include "engines/redis/client/session.hpp"
#include "net/attachment.hpp"
#include "net/backoff.hpp"
#include "net/boot_timer.hpp"
#include "net/byte_stream.hpp"
#include "net/completion_handler.hpp"
#include "net/deadline_watch.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/options.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::redis {

using answer = result<reply>;

// Bounds of one pipeline. A request above them is rejected as `unreachable`: it was never sent.
struct pipeline_bounds {
    std::size_t requests_max = std::size_t{64} * 1024;  // asked and not yet answered
    std::size_t unsent_max = std::size_t{64} << 20;     // bytes of them that are not yet sent
    std::size_t in_flight_max = std::size_t{8} * 1024;  // sent and not yet answered
    store_down unconnected = store_down::retry;
};

// Used on its loop only, but for close_from_anywhere. Connects with the first request, again with
// the first after a failure.
class pipeline : public net::attached, public std::enable_shared_from_this<pipeline> {
public:
    static std::shared_ptr<pipeline> make(net::loop& where,
                                          std::shared_ptr<const redis_settings> settings,
                                          pipeline_bounds bounds = {},
                                          std::shared_ptr<locator> whereabouts = nullptr);
    // Use make(). With a locator it is asked for the server before each attempt to connect.
    pipeline(net::loop& where, std::shared_ptr<const redis_settings> settings,
             pipeline_bounds bounds, std::shared_ptr<locator> whereabouts);

    // Sends `commands`, which holds `count` of them and is copied once the answer is awaited, and
    // gives back their reply, or an array of them when they are several. An error reply is a value;
    // a failure is `unreachable` when nothing was sent, else `outcome_unknown`. Cancellable: the
    // answer is then thrown away. Ends by the deadline, at the latest after the timeout.
    // With store_down::fail it is `unreachable` with the first attempt to connect that fails.
    boost::asio::awaitable<answer> ask(std::string_view commands, std::size_t count = 1,
                                       instant deadline = instant::max(),
                                       store_down unconnected = store_down::retry);
    // The same for one who asks several servers at once: handler(answer) runs on the loop, once.
    template <class Handler>
    void ask_then(std::string_view commands, std::size_t count, instant deadline,
                  store_down unconnected, Handler&& handler) {
        submit(commands, count, deadline, unconnected, std::forward<Handler>(handler));
    }

    // What the server said when the connection that now stands was opened.
    const session_facts& facts() const noexcept { return facts_; }
    bool is_connected() const noexcept { return state_ == state::connected; }
    // The server that is, or was last, dialled.
    const std::string& place() const noexcept { return place_; }
    // About the certificate of the connection that stands; nothing without one, or without TLS.
    std::optional<finding> examine_tls();

    // Gives up the connection, or the attempt to get one: what was sent is unknown, the rest goes
    // to the next one, at once.
    void drop(const std::string& why);
    // Gives up the connection that stands as soon as what was sent over it has been answered; the
    // rest goes to the next one.
    void leave(std::string why);
    // The server is not to be used any more: who waits is told, and the pipeline is closed.
    void retire(const std::string& why);

    // Thread-safe. No caller waits for an answer any more.
    void close_from_anywhere();

private:
    using completion_handler = net::completion_handler<answer>;

    struct request {
        std::shared_ptr<completion_handler> who;  // shared with the cancellation slot
        std::uint64_t begin;                      // offsets in the stream of all bytes ever asked
        std::uint64_t end;
        instant deadline;  // who asks waits no longer
        instant overdue;   // a timeout after it was asked: the connection is of no use
        store_down unconnected;
        std::size_t replies_left;
        std::optional<std::vector<reply>> collected;  // of several commands
    };
    using requests = std::deque<request>;

    enum class state { idle, connecting, connected, closed };

    template <class Handler>
    void submit(std::string_view commands, std::size_t count, instant deadline,
                store_down unconnected, Handler&& handler);
    std::optional<failure> reject(std::string_view commands, store_down unconnected) const;
    void enqueue(std::string_view commands, std::size_t count, instant deadline,
                 store_down unconnected, std::shared_ptr<completion_handler> who);

    void start_connecting();
    static boost::asio::awaitable<void> connect(std::shared_ptr<pipeline> self);
    static async<void> open(std::shared_ptr<pipeline> self);
    void stand();
    bool retire_attempt(failure why);

    void flush();
    void flush_soon();
    void flush_secure(std::size_t size);
    std::size_t sendable() const;

    void receive();
    void received(const std::shared_ptr<net::byte_stream>& stream, boost::system::error_code error,
                  std::size_t size);
    bool deal_out(const std::shared_ptr<net::byte_stream>& stream);
    void deal(reply got);
    void break_off(const failure& why);
    bool is_heard_out() const;
    void end_leaving();

    void arm();
    failure unanswered() const;  // an attempt to connect
    void check_deadlines();
    void expire_hasty(instant now);
    void drop_unsent();
    void drop_impatient();
    void expire_unsent(instant now);
    void forget_bytes_until(std::uint64_t offset);
    void fail_all(const requests& gone, const failure& why);

    void close();
    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    const pipeline_bounds bounds_;
    const std::shared_ptr<locator> whereabouts_;
    const net::byte_stream::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::string place_;
    state state_ = state::idle;
    std::shared_ptr<net::byte_stream> stream_;
    std::shared_ptr<reply_parser> parser_;
    session_facts facts_;
    requests requests_;
    std::string out_;                // asked, not yet handed over
    std::string in_transit_;         // what TLS is sending
    std::uint64_t handed_over_ = 0;  // offset of the first byte of out_
    bool sending_ = false;           // an asynchronous write is under way
    bool corked_ = false;            // replies are being dealt out: gather, do not send
    bool flush_posted_ = false;
    // Why the connection is being left, and the offset up to which it is still sent to.
    std::optional<failure> leaves_for_;
    std::uint64_t leaves_at_ = 0;
    bool hasty_ = false;  // a caller may wait for less than the timeout
    net::deadline_watch deadlines_;
    std::optional<net::boot_timer> backoff_;  // empty once the loop has ended
    instant attempt_deadline_ = instant::max();
    instant not_before_{};  // no new attempt to connect until then
    std::optional<failure> last_failure_;
    std::optional<failure> given_up_;  // the attempt that goes on, because it took too long
    net::backoff retries_;
    std::array<char, std::size_t{32} * 1024> bytes_;
};

template <class Handler>
void pipeline::submit(std::string_view commands, std::size_t count, instant deadline,
                      store_down unconnected, Handler&& handler) {
    enqueue(commands, count, deadline, unconnected,
            net::make_completion_handler<answer>(
                std::forward<Handler>(handler), [this](std::weak_ptr<completion_handler> who) {
                    net::give_up(executor_, std::move(who), place_);
                }));
}

}  // namespace pawl::redis
