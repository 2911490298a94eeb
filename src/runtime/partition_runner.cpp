#include "runtime/partition_runner.hpp"

#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>

#include <string_view>
#include <utility>

namespace pawl::runtime {
namespace {

using boost::asio::awaitable;
using leasing::sharing;

// A claim waits for its partition at most so long and then begins anew.
constexpr millis claim_wait = std::chrono::hours{1};
// Members of all counts, alive or dead within the retention: more than this many pages are not
// read.
constexpr int pages_max = 16;

awaitable<void> run_on_thread(partition_body body, partition mine, std::stop_source give_up) {
    std::exception_ptr thrown;
    std::function<void()> work = [&] {
        try {
            body(mine);
        } catch (...) {
            thrown = std::current_exception();
        }
    };
    auto working = on_thread(std::move(work), std::move(give_up));
    co_await std::move(working);
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace

partition_task on_threads(partition_body body) {
    return [body = std::move(body)](partition mine, lease&, std::stop_source give_up) {
        return run_on_thread(body, std::move(mine), std::move(give_up));
    };
}

std::shared_ptr<partition_runner> partition_runner::make(net::loop& where, parts made_of) {
    auto made = std::make_shared<partition_runner>(std::move(made_of));
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

partition_runner::partition_runner(parts made_of)
    : made_of_{std::move(made_of)},
      members_{made_of_.name + "/members/"},
      machine_{leasing::sharing_plan_of(made_of_.name, made_of_.count, made_of_.options),
               made_of_.home->now()},
      timer_{made_of_.home->executor()},
      claims_(made_of_.count),
      held_partitions_(made_of_.count),
      random_{made_of_.home->loop().clocks().seed()} {}

std::string partition_runner::key_of(std::uint32_t which) const {
    return made_of_.name + '/' + std::to_string(which);
}

// What belongs to the work does not belong to the member number, which is only there to be seen.
lease_options partition_runner::membership_options() const {
    auto options = made_of_.options.lease;
    options.min_hold = millis{0};
    options.hold_until_expiry = false;
    options.max_lifetime = millis{0};
    options.acquire_jitter = millis{0};
    options.on_store_down = store_down::fail;
    return options;
}

void partition_runner::spawn(awaitable<void> work) {
    boost::asio::co_spawn(made_of_.home->executor(), std::move(work), net::unattended{});
}

awaitable<bool> partition_runner::run(std::shared_ptr<partition_runner> self) {
    const auto wake = [home = self->attachment_, who = self->weak_from_this()] {
        home->post([who] {
            if (const auto found = who.lock()) found->timer_.wake();
        });
    };
    const std::stop_callback on_shutdown{self->made_of_.shutdown, wake};
    for (;;) {
        if (self->made_of_.shutdown.stop_requested()) self->machine_.call_off();
        const auto now = self->made_of_.home->now();
        if (self->membership_ && !self->membership_->valid()) {
            self->machine_.forgotten(now);
            self->membership_.reset();
        }
        const auto step = self->machine_.next(now);
        if (step.what == sharing::act::over) break;
        if (self->perform(step)) continue;
        self->timer_.set(step.until);
        co_await self->timer_.wait();
    }
    if (self->thrown_) std::rethrow_exception(self->thrown_);
    if (const auto& fault = self->machine_.fault()) throw store_error{*fault};
    co_return true;
}

bool partition_runner::perform(const sharing::step& step) {
    switch (step.what) {
        case sharing::act::look:
            spawn(look(shared_from_this()));
            return true;
        case sharing::act::announce:
            spawn(announce(shared_from_this(), step.which));
            return true;
        case sharing::act::claim:
            claims_[step.which] = std::stop_source{};
            spawn(claim(shared_from_this(), step.which, claims_[step.which].get_token()));
            return true;
        case sharing::act::call_off:
            claims_[step.which].request_stop();
            return true;
        case sharing::act::give_up:
            // Nothing there: its task has just ended, and the release is on its way.
            if (const auto& held = held_partitions_[step.which]) held->give_up.request_stop();
            return true;
        case sharing::act::leave:
            spawn(leave(shared_from_this()));
            return true;
        case sharing::act::wait:
        case sharing::act::over:
            return false;
    }
    return false;
}

awaitable<void> partition_runner::look(std::shared_ptr<partition_runner> self) {
    std::vector<leasing::member> present;
    std::string after;
    for (int i = 0; i < pages_max; ++i) {
        auto listing = self->made_of_.home->store().list(self->members_, after, page_limit_max);
        const auto found = co_await std::move(listing);
        if (found.has_error()) {
            self->made_of_.home->report_failure("list", found.error());
            self->machine_.look_failed(found.error(), self->made_of_.home->now(), self->uniform());
            self->timer_.wake();
            co_return;
        }
        for (const auto& one : found->records) {
            if (number(one.holder) == 0 || one.remaining.count() <= 0) continue;
            auto who =
                leasing::parse_member(std::string_view{one.key}.substr(self->members_.size()));
            if (!who) continue;
            who->since = one.acquired_at;
            present.push_back(*who);
        }
        after = found->next;
        if (after.empty()) break;
    }
    self->machine_.looked(present, self->made_of_.home->now(), self->uniform());
    self->timer_.wake();
}

awaitable<void> partition_runner::announce(std::shared_ptr<partition_runner> self,
                                           std::uint32_t member_number) {
    std::string key = self->members_ + leasing::member_text(self->made_of_.count, member_number);
    const auto options = self->membership_options();
    auto asking = engine::acquire_with_reason(self->made_of_.home, std::move(key), options, {},
                                              std::stop_token{});
    auto answer = co_await std::move(asking);
    const auto now = self->made_of_.home->now();
    if (answer.has_error()) {
        self->machine_.announce_failed(answer.error(), now, self->uniform());
    } else if (auto* won = std::get_if<std::shared_ptr<lease_state>>(&*answer)) {
        self->membership_.emplace(std::move(*won));
        self->machine_.announced(now);
    } else {
        self->machine_.number_taken(now);
    }
    self->timer_.wake();
}

awaitable<void> partition_runner::leave(std::shared_ptr<partition_runner> self) {
    if (self->membership_) {
        lease gone = std::move(*self->membership_);
        self->membership_.reset();
        auto releasing = gone.async_release();
        co_await std::move(releasing);
    }
    self->machine_.left();
    self->timer_.wake();
}

awaitable<void> partition_runner::claim(std::shared_ptr<partition_runner> self, std::uint32_t which,
                                        std::stop_token called_off) {
    auto options = self->made_of_.options.lease;
    options.on_store_down = store_down::fail;
    const wait_policy how_long{.wait = claim_wait};
    // The members know whose it is to be.
    auto asking =
        engine::acquire_with_reason(self->made_of_.home, self->key_of(which), options, how_long,
                                    std::move(called_off), nullptr, instant::max(), false);
    auto answer = co_await std::move(asking);
    const auto now = self->made_of_.home->now();
    if (answer.has_error()) {
        self->machine_.unclaimed(which, answer.error(), now, self->uniform());
    } else if (auto* won = std::get_if<std::shared_ptr<lease_state>>(&*answer)) {
        self->machine_.granted(which);
        self->held_partitions_[which] = std::make_unique<held_partition>(lease{std::move(*won)});
        self->spawn(serve(self, which));
    } else {
        self->machine_.unclaimed(which, std::nullopt, now, self->uniform());
    }
    self->timer_.wake();
}

awaitable<void> partition_runner::serve(std::shared_ptr<partition_runner> self,
                                        std::uint32_t which) {
    auto& mine = *self->held_partitions_[which];
    try {
        partition now{which, self->made_of_.count, mine.held.key(), mine.held.token(),
                      mine.told.token()};
        auto working = self->made_of_.task(std::move(now), mine.held, mine.give_up);
        co_await std::move(working);
    } catch (...) {
        if (!self->thrown_) self->thrown_ = std::current_exception();
        self->machine_.call_off();
    }
    // From here on there is nothing that could be told to stop.
    const auto gone = std::move(self->held_partitions_[which]);
    const auto how = gone->give_up.stop_requested()
                         ? leasing::term_end::taken_away
                         : end_of(gone->held, self->made_of_.options.lease);
    auto releasing = gone->held.async_release();
    co_await std::move(releasing);
    self->machine_.ended(which, how, self->made_of_.home->now(), self->uniform());
    self->timer_.wake();
}

}  // namespace pawl::runtime
