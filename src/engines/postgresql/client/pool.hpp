// A few connections to PostgreSQL, shared by all callers of a store, each a pipeline of statements
// that are transactions of their own.
//
// One caller pays a send and a receive, as with a bare client; many share the connections, and more
// are opened, up to a bound, when statements queue up. Nothing here leaves state in a session, so a
// pooler that hands each transaction to another session changes nothing but prepared statements:
// when one is lost, none is used any more.
#pragma once

#include "engines/postgresql/client/layout.hpp"
#include "engines/postgresql/client/postgresql_settings.hpp"
#include "engines/postgresql/client/statement.hpp"
#include "engines/postgresql/client/wire.hpp"
#include "net/attachment.hpp"
#include "net/backoff.hpp"
#include "net/boot_timer.hpp"
#include "net/completion_handler.hpp"
#include "net/deadline_watch.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/options.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::postgresql {

// Bounds of one pool. A request above the first is rejected as `unreachable`: it was never sent.
struct pool_bounds {
    std::size_t requests_max = std::size_t{64} * 1024;  // asked and not yet sent
    std::size_t in_flight_max = 256;                    // sent on one connection, not yet answered
    std::size_t crowded = 4;          // in flight on every connection: time to open another
    std::uint32_t conflicts_max = 8;  // after which one that lost is not sent again
    millis slow{200};                 // under way for longer: nothing should have to come behind it
    millis locks_remembered{10'000};  // since one was waited for in vain: any request may wait
};

// Used on its loop only, but for close_from_anywhere. Connects with the first request, again with
// the first after a failure.
class pool : public net::attached, public std::enable_shared_from_this<pool> {
public:
    static std::shared_ptr<pool> make(net::loop& where,
                                      std::shared_ptr<const postgresql_settings> settings,
                                      const layout_plan& plan, pool_bounds bounds = {});
    // Use make().
    pool(net::loop& where, std::shared_ptr<const postgresql_settings> settings,
         const layout_plan& plan, pool_bounds bounds);

    // Sends the statement in a transaction of its own and gives back its rows. A failure is
    // `outcome_unknown` only when the statement was sent and its answer was lost. Cancellable: the
    // answer is then thrown away.
    // With store_down::fail it is `unreachable` with the first attempt to connect that fails.
    boost::asio::awaitable<answer> ask(statement what, store_down unconnected = store_down::retry);

    // Asks `first`, and `other` where that has no connection, and gets none while the other's
    // stands: a server may have no room for one more, and go on with those it has.
    static boost::asio::awaitable<answer> ask_either(std::shared_ptr<pool> first,
                                                     std::shared_ptr<pool> other, statement what);

    bool stands() const noexcept { return !lines_.empty(); }
    // What is asked now waits for no other request; for a connection that is to be opened, at most.
    bool is_free() const;
    // The connection that has stood longest; empty when there is none.
    std::shared_ptr<wire> any_wire() const;
    // Whether the server's process of that number answers one of our connections directly.
    bool is_own_backend(std::int64_t process) const;
    // False when they are not wanted, or a pooler has lost one.
    bool prepares() const noexcept { return prepares_; }
    // True when the user may write the plan's table, without the functions.
    bool writes() const noexcept { return writes_; }
    // Found out in another way than that.
    void may_not_write() noexcept { writes_ = false; }
    // True when the default transaction would not do.
    bool wraps() const noexcept { return wraps_; }

    // Thread-safe. No caller waits for an answer any more.
    void close_from_anywhere();

private:
    using completion_handler = net::completion_handler<answer>;

    struct request {
        std::shared_ptr<completion_handler> who;  // shared with the cancellation slot
        statement what;
        instant deadline;
        store_down unconnected = store_down::retry;
        bool made_schema = false;     // asked again, because the schema was gone
        std::uint32_t conflicts = 0;  // lost against other transactions
    };

    // What was sent up to one synchronisation point of the pipeline.
    struct flight {
        std::optional<request> of;  // empty: a ROLLBACK of our own
        bool wrapped = false;       // between a BEGIN and a COMMIT of our own
        bool prepared = false;      // holds the preparation of its statement
        bool unprepared = false;    // its preparation, sent before it, has failed
        int successes = 0;          // of its commands, in their order
        rows got;
        std::string sqlstate;  // of the first error
        std::string message;
        bool fatal = false;         // the server ended the connection with it
        bool unreplicated = false;  // committed, and perhaps not where it should be as well
    };

    struct line {
        std::shared_ptr<wire> through;
        std::deque<flight> in_flight;
        instant front_since{};  // when the first of them began to be the first
        std::set<std::string, std::less<>> prepared;  // by name
        bool sending = false;                         // waits until more can be sent
        bool retiring = false;                        // takes no more; closed when it is idle
    };
    using line_pointer = std::shared_ptr<line>;

    template <class Handler>
    void submit(statement what, store_down unconnected, Handler&& handler);
    void enqueue(statement what, store_down unconnected, std::shared_ptr<completion_handler> who);
    std::optional<failure> reject(store_down unconnected) const;

    void start_connecting();
    static boost::asio::awaitable<void> connect(std::shared_ptr<pool> self);
    static async<void> open(std::shared_ptr<pool> self, std::shared_ptr<wire> on, instant deadline);
    void stand(const std::shared_ptr<wire>& on);
    bool retire_attempt(failure why);

    void pump();
    line_pointer freest() const;
    bool is_slow(const line& one, instant now) const;
    bool holds_up(const line& one) const;
    bool wants_another(const line_pointer& best) const;
    bool send(const line_pointer& to, request what);
    bool send_call(const line_pointer& to, flight& carrying);
    bool finish_segment(const line_pointer& to);
    bool flush(const line_pointer& to);
    void roll_back(const line_pointer& on);

    void receive(const line_pointer& on);
    void received(const line_pointer& on, boost::system::error_code error);
    bool deal_out(const line_pointer& on);
    void note(flight& current, rows got);
    static bool lacks_preparation(const flight& done);
    static void forget_preparation(const line_pointer& on, const flight& done);
    void deal(const line_pointer& on, flight done);
    bool try_again(flight& done);
    bool stands(const line_pointer& on) const;
    void break_off(const line_pointer& which, const failure& why);
    void retire_all();
    void close_if_retired(const line_pointer& which);

    void arm();
    void check_deadlines();
    void expire_unsent(instant now);
    void drop_unsent();
    void drop_impatient();
    void fail_all(const std::deque<request>& gone, const failure& why);

    void close();
    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const postgresql_settings> settings_;
    const std::string place_;
    const layout_plan plan_;
    const pool_bounds bounds_;
    net::loop& loop_;
    const wire::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    bool closed_ = false;
    bool connecting_ = false;
    std::shared_ptr<wire> attempt_;  // the connection that is being made
    std::vector<line_pointer> lines_;
    std::deque<request> waiting_;  // asked, not yet sent
    bool prepares_;
    bool writes_ = false;  // as the newest connection says
    bool wraps_ = false;   // the default transaction is read-only, or not READ COMMITTED
    net::deadline_watch deadlines_;
    std::optional<net::boot_timer> backoff_;  // empty once the loop has ended
    instant attempt_deadline_ = instant::max();
    instant not_before_{};   // no new attempt to connect until then
    instant locks_until_{};  // until then a wait for a lock is remembered
    std::optional<failure> last_failure_;
    net::backoff retries_;
};

template <class Handler>
void pool::submit(statement what, store_down unconnected, Handler&& handler) {
    enqueue(std::move(what), unconnected,
            net::make_completion_handler<answer>(
                std::forward<Handler>(handler), [this](std::weak_ptr<completion_handler> who) {
                    net::give_up(executor_, std::move(who), place_);
                }));
}

}  // namespace pawl::postgresql
