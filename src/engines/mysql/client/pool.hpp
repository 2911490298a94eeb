// The connections of one store, opened as they are needed, and the statements that wait for them.
//
// A server works at one statement of a connection at a time, so many callers need several. Each
// connection has a coroutine that takes what waits, in order; one lone caller finds a connection
// idle and pays for nothing else.
#pragma once

#include "engines/mysql/client/link.hpp"
#include "engines/mysql/client/session.hpp"
#include "net/attachment.hpp"
#include "net/backoff.hpp"
#include "net/completion_handler.hpp"
#include "net/deadline_watch.hpp"
#include "net/loop.hpp"

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
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace pawl::mysql {

// The most statements that may wait for a connection; the next is rejected as `unreachable`.
constexpr std::size_t requests_max = std::size_t{64} * 1024;

// What to do when another session keeps a row locked that a text wants.
enum class when_locked {
    ask_again,  // until the deadline
    tell        // for a text that does not wait for locks
};

struct response {
    std::vector<answer> answers;
    std::optional<finding> tls;  // of the connection that answered, unless it has none
    bool locked = false;         // when_locked::tell: a row was, and nothing has changed
};
using outcome = result<response>;

// Used on its loop only, but for close_from_anywhere. Connects with the first request.
class pool : public net::attached, public std::enable_shared_from_this<pool> {
public:
    static std::shared_ptr<pool> make(net::loop& where,
                                      std::shared_ptr<const mysql_settings> settings,
                                      const table_plan& tables);
    // Use make().
    pool(net::loop& where, std::shared_ptr<const mysql_settings> settings,
         const table_plan& tables);

    // Runs a text of one or more statements on one connection, within the store's timeout. A
    // failure is `unreachable` when it surely had no effect, else `outcome_unknown`; a transaction
    // that lost against another is begun again. Cancellable: the answer is then thrown away.
    boost::asio::awaitable<outcome> ask(std::string sql,
                                        when_locked locked = when_locked::ask_again,
                                        store_down unconnected = store_down::retry);
    boost::asio::awaitable<outcome> ask(prepared_call what,
                                        store_down unconnected = store_down::retry);

    // What the server said last; until then how many bytes a text may have usually.
    const session_facts& facts() const noexcept { return facts_; }
    bool stands() const noexcept { return standing_ > 0; }
    // What is asked now waits for no other request: for a connection that is to be opened, at most.
    bool is_free() const noexcept {
        return !idle_.empty() || (requests_.empty() && (delivering_ || lines_.empty()));
    }

    // Thread-safe. No caller waits for an answer any more.
    void close_from_anywhere();

private:
    using completion_handler = net::completion_handler<outcome>;
    // A connection's coroutine that has nothing to do.
    class idle_waiter {
    public:
        explicit idle_waiter(const link* its_line) : line{its_line} {}
        virtual ~idle_waiter() = default;
        virtual void wake() = 0;

        const link* const line;
    };
    template <class Handler>
    class handler_idle_waiter;

    struct request {
        std::string sql;                          // empty: the call
        prepared_call call;                       // empty: the text
        std::shared_ptr<completion_handler> who;  // shared with the cancellation slot
        instant deadline;
        when_locked locked = when_locked::ask_again;
        store_down unconnected = store_down::retry;
        std::uint32_t attempts = 0;
        std::optional<failure> last{};  // why it was not done when it was sent last
    };
    enum class connection_state { connection_stands, connection_is_over };

    template <class Handler>
    void submit(request what, Handler&& handler);
    void enqueue(request what);
    boost::asio::awaitable<outcome> ask(request what);
    std::optional<failure> reject(store_down unconnected) const;
    void deliver(const std::shared_ptr<completion_handler>& who, outcome got);

    void grow();
    static boost::asio::awaitable<void> serve(std::shared_ptr<pool> self,
                                              std::shared_ptr<link> line);
    boost::asio::awaitable<bool> stand_up(std::shared_ptr<link> line);
    bool retire_attempt(failure why);
    boost::asio::awaitable<bool> execute(std::shared_ptr<link> line);
    boost::asio::awaitable<connection_state> settle(std::shared_ptr<link> line, request& one,
                                                    const server_error& error);
    static boost::asio::awaitable<bool> roll_back(std::shared_ptr<link> line);
    boost::asio::awaitable<void> pause(std::uint32_t attempts);
    boost::asio::awaitable<void> idle(const link* line);
    bool is_spare(const link& line) const;
    void wake_one();
    void retire(const std::shared_ptr<link>& line);

    void arm(instant due);
    void check_deadlines();
    void drop_unsent(const failure& why);
    void drop_impatient();
    void expire_unsent(instant now);

    void close();
    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const mysql_settings> settings_;
    const std::string place_;
    const table_plan* const tables_;
    net::loop& loop_;
    const net::loop::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    bool closed_ = false;
    std::deque<request> requests_;  // that wait for a connection
    std::vector<std::shared_ptr<link>> lines_;
    std::vector<std::unique_ptr<idle_waiter>> idle_;  // the one that was busy last at the back
    std::size_t standing_ = 0;                        // lines that are logged in
    std::size_t dialling_ = 0;
    bool asking_ = false;      // a question is being put, whose handler does not wait yet
    bool delivering_ = false;  // an answer, which may lead to the next question
    session_facts facts_;
    net::deadline_watch deadlines_;
    instant not_before_{};  // no new attempt to connect until then
    std::optional<failure> last_failure_;
    net::backoff retries_;
    std::minstd_rand random_;
};

template <class Handler>
class pool::handler_idle_waiter final : public idle_waiter {
public:
    handler_idle_waiter(const link* line, Handler&& handler)
        : idle_waiter{line}, handler_{std::move(handler)} {}
    void wake() override { std::move(handler_)(); }

private:
    Handler handler_;
};

template <class Handler>
void pool::submit(request what, Handler&& handler) {
    what.who = net::make_completion_handler<outcome>(
        std::forward<Handler>(handler), [this](std::weak_ptr<completion_handler> who) {
            net::give_up(executor_, std::move(who), place_);
        });
    enqueue(std::move(what));
}

}  // namespace pawl::mysql
