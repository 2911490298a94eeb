// One session of ZooKeeper: the connection that carries it, and what is asked over it.
//
// An ephemeral znode lives as long as its session, and the session as long as the leader hears of
// it at least once in its timeout. So a lease must be shorter than the timeout that the *server*
// granted: shorter by a share that covers how long the leader may lag behind what a follower has
// heard, and our own heartbeat keeps that lag short.
#pragma once

#include "engines/zookeeper/client/client_handle.hpp"
#include "engines/zookeeper/client/socket_watch.hpp"
#include "net/attachment.hpp"
#include "net/backoff.hpp"
#include "net/boot_timer.hpp"
#include "net/completion_handler.hpp"
#include "net/loop.hpp"

#include <pawl/options.hpp>
#include <pawl/spi/async.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>

namespace pawl::zookeeper {

// What a server's tickTime is taken for where the server does not tell.
constexpr millis usual_tick{2000};

// The longest lease that a session of that timeout can carry, and the least timeout for a lease. A
// leader hears of a follower's sessions twice in a tick.
millis longest_ttl(millis session_timeout, millis tick = usual_tick);
millis least_timeout(millis ttl);

using completion_handler = net::completion_handler<result<answer>>;

// Used on its loop only, but for close_from_anywhere.
class session : public net::attached, public std::enable_shared_from_this<session> {
public:
    static std::shared_ptr<session> make(net::loop& where,
                                         std::shared_ptr<const zookeeper_settings> settings,
                                         millis timeout);
    // Use make().
    session(net::loop& where, std::shared_ptr<const zookeeper_settings> settings, millis timeout);

    // The answer, by `until` at the latest: `unreachable` when it was never sent or only read, else
    // `outcome_unknown`. Cancellable: the answer is then thrown away.
    boost::asio::awaitable<result<answer>> ask(request wanted, instant until) {
        auto begin = [this, &wanted, until](auto&& handler) {
            submit(std::move(wanted), until, std::forward<decltype(handler)>(handler));
        };
        co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&,
                                                       void(result<answer>)>(
            begin, boost::asio::use_awaitable);
    }
    // All of them at once; the first failure, or every answer in order.
    async<std::vector<answer>> ask_all(std::vector<request> wanted, instant until);
    // Sent when there is a connection; no caller waits for the answer.
    void tell(request wanted, instant until);
    // Ends when there is a connection to a server that may write. With store_down::fail it is
    // `unreachable` as soon as no server answers.
    async<void> ready(instant until, store_down unconnected = store_down::retry);

    // Expired, rejected or closed: whatever it held is gone, and another session is needed.
    bool is_dead() const noexcept { return state_ == state::dead; }
    bool is_connected() const noexcept { return state_ == state::connected; }
    millis asked_timeout() const noexcept { return timeout_; }
    // Those that the server granted; known once it has been ready.
    millis granted_timeout() const noexcept { return granted_; }
    // Of what it was made for, even where the server grants more.
    millis usable_ttl() const noexcept { return longest_ttl(std::min(granted_, timeout_), tick_); }
    std::int64_t id() const noexcept { return id_; }

    // How long the session is needed even when no caller uses it any more: it carries leases.
    void carry(instant until) { carries_until_ = std::max(carries_until_, until); }
    void lease_began() { ++leases_; }
    void lease_ended() {
        if (--leases_ == 0) carries_until_ = instant{};
    }

    // A place in line for the next change of a znode that is watched by get_and_watch. Made before
    // that is asked, so that nothing falls between.
    class watch {
    public:
        watch(std::shared_ptr<session> where, std::string path);
        ~watch();
        watch(const watch&) = delete;
        watch& operator=(const watch&) = delete;

        // Ends with the change, or with the connection. Cancellable.
        boost::asio::awaitable<void> fired();

    private:
        friend class session;
        std::shared_ptr<session> where_;
        std::string path_;
        bool fired_ = false;
        std::shared_ptr<completion_handler> waiting_;
    };

    // Thread-safe. No caller uses it any more; it goes when its leases have ended.
    void close_from_anywhere();

private:
    struct waiting {
        std::shared_ptr<completion_handler> who;
        instant until;
        std::optional<request> unsent;
        bool writes = false;
    };
    enum class state { resting, opening, connecting, connected, dead };

    template <class Handler>
    void submit(request wanted, instant until, Handler&& handler) {
        enqueue(std::move(wanted), until,
                net::make_completion_handler<result<answer>>(
                    std::forward<Handler>(handler), [this](std::weak_ptr<completion_handler> who) {
                        net::give_up(executor_, std::move(who), place_);
                    }));
    }
    void enqueue(request wanted, instant until, std::shared_ptr<completion_handler> who);
    void send(std::uint64_t number, waiting& one);
    void send_unsent();
    void finish(std::uint64_t number, result<answer> got);

    // The C client's socket is ready; or one of its times has come; or it was made to do something.
    enum class cause { readable, writable, time };
    void turn(cause why);
    void turn_soon();
    void attend();
    auto when_ready(cause what, bool& waits);
    void deliver(const handle_event& event);
    void state_changed(link_state now);
    void answered(std::uint64_t number);
    void node_changed(const std::string& path);
    void let_go(instant when);

    void start_opening();
    static boost::asio::awaitable<void> open(std::shared_ptr<session> self);
    async<void> any_answers(instant until);
    static async<std::vector<server>> find_servers(std::shared_ptr<session> self);
    static boost::asio::awaitable<void> look_names_up(std::shared_ptr<session> self);
    void retire_attempt(failure why);
    void stand();
    void fall();
    std::vector<std::uint64_t> all_waiting() const;
    void die(failure why);
    void wake_watches();

    void arm(instant when);
    static boost::asio::awaitable<void> watch_time(std::shared_ptr<session> self);
    void look_at_time();
    void expire(instant now);
    millis beat_every() const;

    void close();
    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const zookeeper_settings> settings_;
    const std::string place_;
    const millis timeout_;
    const net::loop::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    state state_ = state::resting;
    std::unique_ptr<client_handle> handle_;
    std::optional<socket_watch> socket_;  // empty once the loop has ended
    std::uint64_t watched_ = 0;           // which of the handle's links
    bool reading_ = false, writing_ = false;
    bool turning_ = false, turn_posted_ = false;
    instant attend_at_ = instant::max();
    bool looking_up_ = false;
    std::uint64_t numbers_ = 0;
    std::unordered_map<std::uint64_t, waiting> waiting_;
    std::deque<std::uint64_t> unsent_;
    std::set<std::pair<instant, std::uint64_t>> deadlines_;
    std::multimap<std::string, watch*, std::less<>> watches_;
    millis granted_{0};
    millis tick_ = usual_tick;  // the longest of the servers that tell theirs, and no shorter
    std::int64_t id_ = 0;
    int leases_ = 0;
    instant carries_until_{};
    std::optional<net::boot_timer> timer_;  // empty once the loop has ended
    bool timing_ = false;
    instant connect_by_ = instant::max();
    instant beat_at_ = instant::max();
    instant nudge_at_ = instant::max();
    instant fell_at_{};  // when the connection was lost
    instant not_before_{};
    std::optional<failure> last_failure_;
    net::backoff retries_;
    std::minstd_rand random_;
};

}  // namespace pawl::zookeeper
