#include "net/loop.hpp"

#include "base/ensure.hpp"
#include "net/remote_operation.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace pawl::net {
namespace {

// How long the loop may stand still, between two drivers or while one is on an operation, before
// its own thread takes over. Waking that thread for every blocking call would cost more than most
// calls take, and so would the way back.
constexpr std::chrono::milliseconds own_thread_timeout{1};

struct driving {
    const loop* where = nullptr;
    void* loop_driver = nullptr;
};
thread_local driving current;

// A blocked caller who drives is not who a handler's exception is for: it ends the process, whoever
// drives.
void run_one(boost::asio::io_context& context) noexcept { context.run_one(); }
std::size_t poll(boost::asio::io_context& context) noexcept { return context.poll(); }

// The guests of one io_context, which end with it. Thread-safe.
class guests final : public boost::asio::execution_context::service {
public:
    using key_type = guests;
    inline static boost::asio::execution_context::id id;

    // What coroutines of the host await here ends before those are destroyed: services of a context
    // end in the reverse order of their beginnings.
    explicit guests(boost::asio::execution_context& owner) : service{owner} {
        awaited_operations::of(owner);
    }

    void add(loop& one) {
        const std::lock_guard lock{mutex_};
        all_.insert(&one);
    }
    void remove(loop& one) {
        const std::lock_guard lock{mutex_};
        all_.erase(&one);
    }

private:
    void shutdown() override {
        std::unordered_set<loop*> left;
        {
            const std::lock_guard lock{mutex_};
            left.swap(all_);
        }
        for (auto* one : left) one->context_ends();
    }
    // A child that is told that it may use the context would renew its parent's leases.
    void notify_fork(boost::asio::execution_context::fork_event event) override {
        const std::lock_guard lock{mutex_};
        if (event == boost::asio::execution_context::fork_prepare && !all_.empty())
            throw std::logic_error{
                "a locks object of pawl works in this io_context: await its async_close() before "
                "fork()"};
    }

    std::mutex mutex_;
    std::unordered_set<loop*> all_;
};

}  // namespace

loop::loop() : loop{turned_by{nullptr}} {}

loop::loop(simulated_node& node)
    : own_context_{std::in_place, 1},
      context_{*own_context_},
      clocks_{timers::of(context_)},
      keep_open_{boost::asio::make_work_guard(context_)} {
    clocks_.simulate(&node);
}

loop::loop(const turned_by& who)
    : own_context_{std::in_place, 1},
      context_{*own_context_},
      clocks_{timers::of(context_)},
      keep_open_{boost::asio::make_work_guard(context_)} {
    if (who.clock != nullptr) clocks_.simulate(who.clock);
    own_ = std::thread{[this] { drive_for_ever(); }};
}

void guest_context::end() {
    while (!open_.empty()) {
        auto& next = open_.front();
        open_.pop_front();
        next.context_ends();
    }
    shutdown();
}

// Its guests' services begin after those of the host that they use, so they end before them.
loop::loop(boost::asio::io_context& host)
    : context_{host},
      guest_{std::make_unique<guest_context>()},
      life_{std::make_shared<guest_life>()},
      clocks_{timers::of(*guest_)},
      keep_open_{boost::asio::make_work_guard(host)} {
    clocks_.sleep_in(host.get_executor());
}

std::shared_ptr<loop> loop::guest_of(boost::asio::io_context& host) {
    std::shared_ptr<loop> made{new loop{host}};
    boost::asio::use_service<guests>(host).add(*made);
    return made;
}

loop_executor loop::get_executor() const {
    if (!guest_) return loop_executor{context_.get_executor()};
    const auto host = context_.get_executor();
    return {guest_executor{host, *guest_, has_ended() ? nullptr : life_}, host, *guest_};
}

void loop::context_ends() noexcept {
    if (has_ended()) return;
    life_->ended_by = std::this_thread::get_id();
    life_->ended.store(true, std::memory_order_release);
    // Its threads may post to the host.
    pool_.stop();
    {
        const std::lock_guard lock{mutex_};
        for (auto* one : drivers_) {
            if (one->done) continue;
            one->error = std::make_exception_ptr(store_error{locks_closed()});
            one->done = true;
            one->changed.notify_one();
        }
    }
    guest_->end();
    keep_open_.reset();
}

void loop::leave(std::shared_ptr<loop> self) {
    auto& gone = *self;
    if (!gone.has_ended()) {
        boost::asio::use_service<guests>(gone.context_).remove(gone);
        gone.context_ends();
    }
    // Coroutines of it are in the reactor of its host, and use it until that lets go of them.
    const auto last = gone.life_;
    last->remains = std::move(self);
    gone.life_.reset();
}

loop::~loop() {
    if (is_guest()) return;
    {
        const std::lock_guard lock{mutex_};
        if (!drivers_.empty())
            base::misused("a store was closed under a call that blocks: end its scheduler first");
        stopping_ = true;
    }
    context_.stop();
    own_turn_.notify_one();
    if (own_.joinable()) own_.join();
    pool_.stop();
}

std::size_t loop::turn() {
    base::ensure(clocks_.simulated() != nullptr && !is_driving());
    const auto before = std::exchange(current, {this, nullptr});
    const auto ran = poll(context_);
    current = before;
    return ran;
}

bool loop::is_driving() const noexcept {
    return is_guest() ? context_.get_executor().running_in_this_thread() : current.where == this;
}

bool loop::is_visited() const noexcept {
    return !is_guest() && is_driving() && current.loop_driver != nullptr;
}

void loop::submit(blocking_job job) {
    if (is_visited()) {
        static_cast<loop_driver*>(current.loop_driver)->operations.push_back(std::move(job));
        return;
    }
    try {
        pool_.submit(job);
    } catch (const std::system_error&) {
        // The machine has no more threads: the loop stands still for it.
        job();
    }
}

void loop::enter(loop_driver& me) {
    if (is_elsewhere()) throw std::logic_error{opened_before_fork};
    if (is_driving())
        throw std::logic_error{
            "a call that blocks was made on pawl's own loop, from an observer, a stop callback or "
            "a "
            "coroutine: make it on another thread, or await its async_ twin"};
    const std::lock_guard lock{mutex_};
    if (has_ended()) throw store_error{locks_closed()};
    drivers_.push_back(&me);
    ++turns_;
}

void loop::finish(loop_driver& who, std::exception_ptr error) {
    const std::lock_guard lock{mutex_};
    if (who.done) return;
    who.error = std::move(error);
    who.done = true;
    who.changed.notify_one();
}

void loop::run_operations(loop_driver& me, std::unique_lock<std::mutex>& lock) {
    ++away_;
    ++turns_;
    step_aside();
    lock.unlock();
    // One job may lead to the next.
    while (!me.operations.empty())
        for (auto& job : std::exchange(me.operations, {})) job();
    lock.lock();
    --away_;
    ++turns_;
}

void loop::drive_until_done(loop_driver& me) {
    std::unique_lock lock{mutex_};
    if (is_guest()) me.changed.wait(lock, [&] { return me.done; });
    while (!me.done) {
        if (driven_) {
            me.changed.wait(lock, [&] { return me.done || !driven_; });
            continue;
        }
        driven_ = true;
        lock.unlock();
        const auto before = std::exchange(current, {this, &me});
        run_one(context_);
        current = before;
        lock.lock();
        driven_ = false;
        if (!me.operations.empty()) run_operations(me, lock);
    }
    drivers_.erase(std::find(drivers_.begin(), drivers_.end(), &me));
    ++turns_;
    step_aside();
}

// REQUIRES: mutex_ is held and this thread does not drive.
void loop::step_aside() {
    if (driven_) return;
    for (auto* other : drivers_) {
        if (!other->done) other->changed.notify_one();
    }
    if (own_sleeps_deeply_ || attended_ > 0) own_turn_.notify_one();
}

// True when the loop has stood still for the whole of its patience.
bool loop::may_take_over(std::unique_lock<std::mutex>& lock) {
    const auto turns_before = turns_;
    const bool was_driven = driven_;
    own_turn_.wait_for(lock, own_thread_timeout,
                       [this] { return stopping_ || (attended_ > 0 && is_deserted()); });
    if (stopping_ || (attended_ > 0 && is_deserted())) return true;
    if (driven_ && was_driven && turns_ == turns_before) {
        // One long visit: sleep until its loop driver steps aside.
        own_sleeps_deeply_ = true;
        own_turn_.wait(lock, [this] { return stopping_ || !driven_; });
        own_sleeps_deeply_ = false;
        return stopping_;
    }
    // Whoever is there but does not drive is on an operation, or about to leave.
    return !driven_ && !was_driven && turns_ == turns_before;
}

void loop::drive_for_ever() {
    std::unique_lock lock{mutex_};
    while (!stopping_) {
        if (!may_take_over(lock)) continue;
        if (stopping_ || driven_) continue;
        driven_ = true;
        do {
            lock.unlock();
            current = {this, nullptr};
            run_one(context_);
            current = {};
            lock.lock();
        } while (!stopping_ && drivers_.size() == away_);
        driven_ = false;
        step_aside();
    }
}

}  // namespace pawl::net
