#include "runtime/slots.hpp"

#include "net/timer.hpp"

#include <algorithm>
#include <utility>

namespace pawl::runtime {
namespace {

// Leases of this process, which its engine renews.
class lease_source : public slot_source<std::shared_ptr<lease_state>> {
public:
    lease_source(std::shared_ptr<engine> where, const lease_options& options)
        : where_{std::move(where)}, options_{options} {}

    async<answer> claim(std::string key, millis wait, instant answer_by,
                        std::stop_token stop) override {
        return engine::acquire_with_reason(where_, std::move(key), options_,
                                           wait_policy{.wait = wait}, std::move(stop), nullptr,
                                           answer_by);
    }
    void let_go_unused(std::shared_ptr<lease_state> unwanted) override {
        engine::let_go_unused(std::move(unwanted));
    }
    boost::asio::any_io_executor executor() const override { return where_->executor(); }
    instant now() const override { return where_->now(); }

private:
    const std::shared_ptr<engine> where_;
    const lease_options options_;
};

}  // namespace

slot_claimer::slot_claimer(std::shared_ptr<engine> where)
    : where_{std::move(where)}, random_{where_->loop().clocks().seed()} {}

async<slot_claimed> slot_claimer::claim(std::shared_ptr<slot_claimer> self, slot_request wanted,
                                        std::stop_token stop) {
    const auto until = self->where_->now() + std::min(wanted.wait, wait_longest);
    const auto place = std::make_shared<queue_waiter>();
    const auto call_off = [home = self->where_->loop_attachment(), place] {
        home->post([place] { place->called_off.set(); });
    };
    const std::stop_callback on_stop{stop, call_off};
    if (wanted.options.acquire_jitter.count() > 0) {
        std::uniform_real_distribution<double> uniform{0.0, 1.0};
        auto pause = std::chrono::duration_cast<leasing::nanos>(wanted.options.acquire_jitter *
                                                                uniform(self->random_));
        // It is part of the wait.
        if (wanted.wait.count() > 0) pause = std::min<leasing::nanos>(pause, wanted.wait);
        auto pausing = place->called_off.wait_for(pause);
        co_await std::move(pausing);
        wanted.options.acquire_jitter = millis{0};
    }
    using held = std::shared_ptr<lease_state>;
    const std::shared_ptr<slot_source<held>> source =
        std::make_shared<lease_source>(self->where_, wanted.options);
    slot_search todo{wanted.name, wanted.count, self->any_of(wanted.count), until, std::move(stop)};
    if (wanted.wait.count() == 0) {
        todo.until = instant::max();
        auto looking = try_each_slot<held>(source, std::move(todo));
        co_return co_await std::move(looking);
    }
    auto line = self->lines_->enter(wanted.name, until - self->where_->now(), place);
    const auto turn = co_await std::move(line);
    if (!turn) {
        if (place->called_off.is_set()) co_return slot_claimed{cancelled{}};
        co_return slot_claimed{
            busy{fence_token{}, self->where_->owner(), wanted.options.ttl, busy_reason::held}};
    }
    auto acquiring = acquire_any_slot<held>(source, std::move(todo));
    co_return co_await std::move(acquiring);
}

std::uint32_t slot_claimer::any_of(std::uint32_t count) {
    std::uniform_int_distribution<std::uint32_t> any{0, count - 1};
    return any(random_);
}

}  // namespace pawl::runtime
