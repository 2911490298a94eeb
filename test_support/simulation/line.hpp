// What a simulated process and one server say to each other: requests that are answered late, more
// than once or never, and news that is waited for.
//
// Both simulations have their stores, and their journals, at the far end of such a line. What its
// wire does to a message, each of them decides.
#pragma once

#include "net/timer.hpp"
#include "test_support/simulation/rng.hpp"

#include <pawl/spi/async.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace pawl::simulation {

// Between one life of a process and one server.
class wire {
public:
    virtual ~wire() = default;
    wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    // At the process, on its loop.
    virtual boost::asio::any_io_executor executor() const = 0;
    virtual nanos timeout() const = 0;
    virtual void on_timeout() = 0;
    // Whether it can be listened at all, and who is to hear that it can be no longer.
    virtual bool is_open() const = 0;
    virtual void on_lost(std::weak_ptr<std::function<void()>> who) = 0;
    // Does it there: never when the process has ended, and when it goes on if it is frozen.
    virtual void tell(std::function<void()> what) = 0;

    // Each calls `deliver` when the message arrives: once, as a rule.
    enum class copies { one, perhaps_more };
    // Returns how many copies are on their way.
    virtual int carry_there(std::function<void()> deliver, copies how_many) = 0;
    virtual void carry_back(std::function<void()> deliver) = 0;
    // How the server takes a request at the moment at which it arrives.
    enum class reception { served, rejected, unheard };
    virtual reception arrive() = 0;
};

// Lives in what calls it, whose coroutines keep the wire.
class line {
public:
    explicit line(std::shared_ptr<wire> over) : wire_{std::move(over)} {}

    // Asks the server to do `work` at the instant at which the request arrives. A copy of it may
    // make the server do it again.
    template <class T>
    async<T> ask(std::function<result<T>()> work) {
        struct waiting {
            explicit waiting(const boost::asio::any_io_executor& executor) : heard{executor} {}
            net::timer heard;
            std::optional<result<T>> answer{};
        };
        const auto over = wire_;
        const auto mine = std::make_shared<waiting>(over->executor());
        // Shared, as an answer may be long.
        const auto answered = [over, weak = std::weak_ptr{mine}](std::shared_ptr<result<T>> what) {
            over->tell([weak, what = std::move(what)] {
                const auto who = weak.lock();
                if (!who || who->answer) return;
                who->answer = std::move(*what);
                who->heard.cancel();
            });
        };
        const auto copies = std::make_shared<int>(0);
        const auto arrive = [over, work = std::move(work), answered, copies] {
            const auto how = over->arrive();
            // That one copy is rejected says nothing of another, which may be served before or
            // after it, and a client that was connected learns no more than that.
            if (how == wire::reception::rejected && *copies == 1)
                answered(
                    std::make_shared<result<T>>(failure{errc::unreachable, "connection refused"}));
            if (how != wire::reception::served) return;
            over->carry_back(
                [answered, what = std::make_shared<result<T>>(work())] { answered(what); });
        };
        *copies = over->carry_there(arrive, wire::copies::perhaps_more);
        auto hearing = mine->heard.wait_for(over->timeout());
        co_await std::move(hearing);
        if (!mine->answer) {
            over->on_timeout();
            co_return failure{errc::outcome_unknown, "no answer in time"};
        }
        co_return std::move(*mine->answer);
    }

    // Ends when the server says something, when it can be reached no longer, or when Asio cancels.
    // The server is to call what `work` is given when it has something to say.
    async<void> listen(std::function<void(std::function<void()> told)> work) {
        struct waiting {
            explicit waiting(const boost::asio::any_io_executor& executor) : heard{executor} {}
            net::timer heard;
            bool lost = false;
            std::shared_ptr<std::function<void()>> on_lost{};
        };
        const auto over = wire_;
        const auto mine = std::make_shared<waiting>(over->executor());
        if (!over->is_open()) co_return failure{errc::unreachable, "cut off"};
        mine->on_lost = std::make_shared<std::function<void()>>([weak = std::weak_ptr{mine}] {
            if (const auto who = weak.lock()) {
                who->lost = true;
                who->heard.cancel();
            }
        });
        over->on_lost(mine->on_lost);
        const auto told = [over, weak = std::weak_ptr{mine}] {
            over->carry_back([over, weak] {
                over->tell([weak] {
                    if (const auto who = weak.lock()) who->heard.cancel();
                });
            });
        };
        const auto arrive = [over, work = std::move(work), told] {
            if (over->arrive() == wire::reception::served) work(told);
        };
        over->carry_there(arrive, wire::copies::one);
        auto hearing = mine->heard.wait_until(instant::max());
        co_await std::move(hearing);
        if (mine->lost) co_return failure{errc::unreachable, "connection lost"};
        co_return result<void>{};
    }

private:
    std::shared_ptr<wire> wire_;
};

}  // namespace pawl::simulation
