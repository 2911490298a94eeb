#include "test_support/conformance/client.hpp"

#include "base/identity.hpp"
#include "test_support/conformance/pause.hpp"
#include "time/clocks.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::conformance {
namespace {

constexpr auto timeout = 10s;

// A wait_change with a timer that cancels it. Lives until both have ended.
struct bounded_wait : std::enable_shared_from_this<bounded_wait> {
    bounded_wait(net::loop& where, std::shared_ptr<lease_store> on)
        : store{std::move(on)}, timer{where.get_executor()} {}

    void start(net::loop& where, const std::string& key, fence_token seen, millis bound) {
        timer.expires_after(bound);
        timer.async_wait([self = shared_from_this()](boost::system::error_code error) {
            if (error || self->ended) return;
            self->late = true;
            self->cancel.emit(boost::asio::cancellation_type::terminal);
        });
        boost::asio::co_spawn(where.get_executor(), store->wait_change(key, seen),
                              boost::asio::bind_cancellation_slot(
                                  cancel.slot(), [self = shared_from_this()](
                                                     std::exception_ptr raised, result<void> end) {
                                      self->finish(raised, end);
                                  }));
    }

    void finish(std::exception_ptr raised, const result<void>& end) {
        ended = true;
        timer.cancel();
        if (raised || end.has_error())
            answer.set_value(wait_end::failed);
        else
            answer.set_value(late ? wait_end::timed_out : wait_end::changed);
    }

    std::shared_ptr<lease_store> store;
    boost::asio::steady_timer timer;
    boost::asio::cancellation_signal cancel;
    std::promise<wait_end> answer;
    bool late = false;
    bool ended = false;
};

}  // namespace

template class store_verbs<client>;

client::client(const store_opener& open)
    : loop_{std::make_unique<net::loop>()}, store_{open(*loop_)} {}
client::client(client&&) noexcept = default;
client::~client() = default;

std::future<wait_end> client::start_waiting(const std::string& key, fence_token seen,
                                            millis bound) {
    auto wait = std::make_shared<bounded_wait>(*loop_, store_);
    auto answer = wait->answer.get_future();
    boost::asio::post(loop_->get_executor(),
                      [this, wait, key, seen, bound] { wait->start(*loop_, key, seen, bound); });
    return answer;
}

wait_end client::wait_change(const std::string& key, fence_token seen, millis bound) {
    return start_waiting(key, seen, bound).get();
}

fence_token client::granted(const claim& wanted) {
    auto answer = acquire(wanted);
    // A lease this short may expire on some of several nodes before the others have confirmed it.
    // Then nobody holds the key, and the same claim is asked for again (rule 2).
    const auto split = [&] {
        const auto* told = answer.has_value() ? std::get_if<busy>(&*answer) : nullptr;
        return told != nullptr && number(told->holder) == 0 && told->reason == busy_reason::held;
    };
    const auto give_up = lease_clock::now() + timeout;
    while (wanted.ttl < std::chrono::seconds{1} && split() && lease_clock::now() < give_up)
        answer = acquire(wanted);
    return expect_answer<grant>(std::move(answer), "a grant").token;
}

std::vector<record> client::all(const std::string& prefix, std::size_t limit) {
    std::vector<record> found;
    std::string after;
    do {
        const auto got = value_of(list(prefix, after, limit));
        EXPECT_LE(got.records.size(), limit);
        found.insert(found.end(), got.records.begin(), got.records.end());
        after = got.next;
    } while (!after.empty());
    return found;
}

void client::pass(millis duration) { pass_time(*loop_, duration); }

void client::let_expire(const std::string& key, millis ttl) {
    pass(2 * ttl);
    // Coarser steps, or a holder that takes its lease away by a message, take a little longer.
    const auto give_up = lease_clock::now() + timeout;
    while (number(show(key).holder) != 0 && lease_clock::now() < give_up) pass(5ms);
}

void client::until_waiters(const std::string& key, std::uint32_t count) {
    const auto give_up = lease_clock::now() + timeout;
    while (lease_clock::now() < give_up) {
        const auto waiters = show(key).waiters;
        if (!waiters || *waiters == count) return;
        pass(1ms);
    }
    ADD_FAILURE() << key << " never had " << count << " waiters";
}

claim fresh_claim(const std::string& key, millis ttl, const std::string& owner) {
    return claim{key, base::fresh_id(), owner, ttl};
}

occurrence occurrence_in(millis from_now) {
    const auto now = std::chrono::floor<millis>(time::wall_now().time_since_epoch());
    return occurrence{(now + from_now).count()};
}

claim fresh_occurrence(const std::string& key, occurrence due, delivery mode, millis ttl) {
    auto wanted = fresh_claim(key, ttl);
    wanted.occurrence = due;
    wanted.delivery = mode;
    return wanted;
}

occurrence before(occurrence due, millis by) { return occurrence{number(due) - by.count()}; }

held_lease extending(const std::string& key, fence_token token, millis ttl) {
    auto lease = lease_of(key, token, ttl);
    lease.if_expired = expired_renewal::extend_if_unclaimed;
    return lease;
}

bool yes(const result<bool>& answer) {
    if (answer.has_error()) ADD_FAILURE() << answer.error().detail;
    return answer.has_value() && *answer;
}

held_lease lease_of(const std::string& key, fence_token token, millis ttl) {
    held_lease lease;
    lease.key = key;
    lease.token = token;
    lease.ttl = ttl;
    return lease;
}

}  // namespace pawl::conformance
