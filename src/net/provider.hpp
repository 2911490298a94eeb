// A function of the application that gives what the loop needs, such as a connection: it may block,
// and may never come back, so it is called away from the loop and with a deadline around it.
#pragma once

#include "base/text.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/spi/async.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace pawl::net {

// `Given` is false when it is nothing, is moved, and is released by its destructor, which may
// block.
template <class Given>
class provider {
public:
    // The loop outlives what is asked.
    provider(std::function<Given()> make, loop& where) : make_{std::move(make)}, loop_{where} {}
    // Null without a function.
    static std::shared_ptr<provider> of(std::function<Given()> make, loop& where) {
        return make ? std::make_shared<provider>(std::move(make), where) : nullptr;
    }

    // Ends by the deadline; what comes later is released away from the loop. Every failure is
    // `unreachable`, as nothing has been asked of the store. On the loop.
    static async<Given> ask(std::shared_ptr<provider> self, instant deadline, std::string place) {
        if (self->under_way_ >= calls_max)
            co_return failure{errc::unreachable,
                              place +
                                  ": the application's function has not returned from its "
                                  "earlier calls, and is not called again meanwhile"};
        auto asked = std::make_shared<call>();
        bool begun = true;
        ++self->under_way_;
        try {
            self->loop_.hand_to_pool([self, asked] { self->perform(asked); });
        } catch (const std::system_error&) {
            --self->under_way_;
            begun = false;
        }
        if (!begun) co_return failure{errc::unreachable, place + ": there are no more threads"};
        auto waiting = asked->answered.wait_until(deadline);
        const bool in_time = co_await std::move(waiting);
        if (!in_time) {
            asked->abandoned = true;
            co_return failure{errc::unreachable,
                              place + ": the application gave no connection in time"};
        }
        if (!asked->fault.empty())
            co_return failure{errc::unreachable,
                              place + ": the application gave no connection: " + asked->fault};
        if (!asked->given)
            co_return failure{errc::unreachable, place + ": the application gave no connection"};
        co_return std::move(asked->given);
    }

private:
    // As many as the pool has threads.
    static constexpr int calls_max = 2;
    static constexpr std::size_t fault_bytes_max = 400;

    struct call {
        std::atomic<bool> abandoned{false};
        // On the loop, once it is answered
        event answered;
        Given given{};
        std::string fault;
    };

    static std::string one_line(std::string_view text) {
        text = text.substr(0, std::min(text.find('\n'), fault_bytes_max));
        return text.empty() ? "it threw" : base::printable(text);
    }

    // On a thread of the pool's, which ends before the loop does.
    void perform(const std::shared_ptr<call>& asked) {
        Given given{};
        std::string fault;
        try {
            if (!asked->abandoned) given = make_();
        } catch (const std::exception& raised) {
            fault = one_line(raised.what());
        } catch (...) {
            fault = one_line({});
        }
        --under_way_;
        if (asked->abandoned) return;
        auto answer = std::make_shared<Given>(std::move(given));
        boost::asio::post(loop_.get_executor(),
                          [asked, answer, fault = std::move(fault), &on = loop_] {
                              if (asked->abandoned) return on.hand_to_pool([answer] {});
                              asked->given = std::move(*answer);
                              asked->fault = fault;
                              asked->answered.set();
                          });
    }

    const std::function<Given()> make_;
    loop& loop_;
    std::atomic<int> under_way_{0};
};

}  // namespace pawl::net
