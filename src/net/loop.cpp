#include "net/loop.hpp"

#include "base/ensure.hpp"
#include "net/remote_operation.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::net {
namespace {

// How long the loop may stand still, between two drivers or while one is on an operation, before
// its own thread takes over. Waking that thread for every blocking call would cost more than most
// calls take, and so would the way back.
constexpr std::chrono::milliseconds own_thread_timeout{1};

// What a thread drives. A handler of one loop may call another and drive that meanwhile.
struct driving {
    const loop* where;
    void* loop_driver;
    const driving* before;
};
thread_local const driving* current = nullptr;
thread_local int bodies_here = 0;

// While one exists, this thread drives the loop.
class driving_scope {
public:
    explicit driving_scope(const loop& where, void* loop_driver = nullptr) noexcept
        : now_{&where, loop_driver, current} {
        current = &now_;
    }
    ~driving_scope() { current = now_.before; }
    driving_scope(const driving_scope&) = delete;
    driving_scope& operator=(const driving_scope&) = delete;

private:
    const driving now_;
};

// How often a caller looks whether the host was stopped before it has begun.
constexpr std::chrono::milliseconds host_look{100};
constexpr auto host_has_run = std::chrono::milliseconds::max();
constexpr const char* host_does_not_run =
    "a call that blocks waits for the io_context that this `locks` works in, which does not run: "
    "run it on another thread, or await the async_ twin of the call";

// A blocked caller who drives is not who a handler's exception is for: it ends the process,
// whatever thread drives.
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

    void add(const std::shared_ptr<loop>& one) {
        const std::lock_guard lock{mutex_};
        all_.insert_or_assign(one.get(), one);
    }
    void remove(loop& one) {
        const std::lock_guard lock{mutex_};
        all_.erase(&one);
    }

private:
    void shutdown() override {
        std::vector<std::shared_ptr<loop>> left;
        {
            const std::lock_guard lock{mutex_};
            for (const auto& [at, one] : all_)
                // Kept: the last frames may be the last who do.
                if (auto kept = one.lock()) left.push_back(std::move(kept));
        }
        // A body of one may wait for another.
        for (const auto& one : left) one->begin_ending();
        for (const auto& one : left) one->finish_ending();
    }
    // A child that is told that it may use the context would renew its parent's leases.
    void notify_fork(boost::asio::execution_context::fork_event event) override {
        {
            const std::lock_guard lock{mutex_};
            if (event != boost::asio::execution_context::fork_prepare || all_.empty()) return;
        }
        // Services that are younger have prepared themselves.
        context().notify_fork(boost::asio::execution_context::fork_parent);
        throw std::logic_error{
            "a locks object of pawl works in this io_context: await its async_close() before "
            "fork()"};
    }

    std::mutex mutex_;
    std::unordered_map<loop*, std::weak_ptr<loop>> all_;  // under mutex_
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
    boost::asio::use_service<guests>(host).add(made);
    // A host that runs is waited for, however long one of its handlers takes.
    boost::asio::post(made->get_executor(), [of = made.get()] {
        const std::lock_guard lock{of->mutex_};
        of->host_timeout = host_has_run;
    });
    return made;
}

loop_executor loop::get_executor() const {
    if (!guest_) return loop_executor{context_.get_executor()};
    const bool ended = has_ended();
    // Of a guest that has ended nothing is run, and its host may be gone.
    static auto& nowhere = *new boost::asio::io_context{1};
    const auto host = ended ? nowhere.get_executor() : context_.get_executor();
    return {guest_executor{host, *guest_, ended ? nullptr : life_}, host, *guest_};
}

void loop::release_drivers(bool of_bodies) {
    const std::lock_guard lock{mutex_};
    for (auto* one : drivers_) {
        if (one->done || (of_bodies && !one->in_body)) continue;
        one->error = std::make_exception_ptr(store_error{locks_closed()});
        one->done = true;
        one->changed.notify_one();
    }
}

void loop::begin_ending() noexcept {
    if (has_ended()) return;
    boost::asio::use_service<guests>(context_).remove(*this);
    {
        const std::lock_guard lock{mutex_};
        life_->ended_by = std::this_thread::get_id();
        life_->ended.store(true, std::memory_order_release);
    }
    release_drivers(true);
}

// Bodies use the frames of those who wait for them, who are let go of last.
void loop::finish_ending() noexcept {
    const std::lock_guard ending{end_mutex_};
    // Its threads may post to the host.
    pool_.stop();
    guest_->end();
    release_drivers(false);
    {
        std::unique_lock lock{mutex_};
        own_turn_.wait(lock, [this] { return drivers_.empty(); });
    }
    keep_open_.reset();
}

std::unique_lock<std::mutex> loop::hold_end() {
    if (life_->ended_by == std::this_thread::get_id()) return {};
    return std::unique_lock{end_mutex_};
}

void loop::leave(std::shared_ptr<loop> self) {
    auto& gone = *self;
    if (!gone.has_ended()) {
        gone.begin_ending();
        gone.finish_ending();
    }
    // Coroutines of it are in the reactor of its host, and use it until that lets go of them.
    const auto last = gone.life_;
    last->remains = std::move(self);
    gone.life_.reset();
}

loop::body_scope::body_scope() noexcept { ++bodies_here; }
loop::body_scope::~body_scope() { --bodies_here; }

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
    const driving_scope here{*this};
    return poll(context_);
}

bool loop::is_driving() const noexcept {
    if (is_guest()) return !has_ended() && context_.get_executor().running_in_this_thread();
    const auto* one = current;
    while (one != nullptr && one->where != this) one = one->before;
    return one != nullptr;
}

bool loop::is_visited() const noexcept {
    return current != nullptr && current->where == this && current->loop_driver != nullptr;
}

void loop::submit(blocking_job job) {
    if (is_visited()) {
        static_cast<loop_driver*>(current->loop_driver)->operations.push_back(std::move(job));
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
    if (is_forked_child()) throw std::logic_error{opened_before_fork};
    if (is_driving())
        throw std::logic_error{
            "a call that blocks was made on pawl's own loop, from an observer, a stop callback or "
            "a "
            "coroutine: make it on another thread, or await its async_ twin"};
    const std::lock_guard lock{mutex_};
    if (has_ended()) throw store_error{locks_closed()};
    me.in_body = bodies_here > 0;
    if (is_guest()) {
        // A body is let go of when the context is destroyed, which waits for it.
        if (!me.in_body && context_.stopped()) throw std::logic_error{host_does_not_run};
        me.begun = std::make_shared<std::atomic<bool>>(false);
    }
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

void loop::wait_for_host(loop_driver& me, std::unique_lock<std::mutex>& lock) {
    const auto is_done = [&] { return me.done; };
    std::chrono::milliseconds waited{0};
    while (!me.in_body && !me.begun->load() && !me.changed.wait_for(lock, host_look, is_done)) {
        waited += host_look;
        if (waited < host_timeout && !context_.stopped()) continue;
        if (me.begun->exchange(true)) break;
        me.error = std::make_exception_ptr(std::logic_error{host_does_not_run});
        me.done = true;
    }
    me.changed.wait(lock, is_done);
}

void loop::drive_until_done(loop_driver& me) {
    std::unique_lock lock{mutex_};
    if (is_guest()) wait_for_host(me, lock);
    while (!me.done) {
        if (driven_) {
            me.changed.wait(lock, [&] { return me.done || !driven_; });
            continue;
        }
        driven_ = true;
        lock.unlock();
        {
            const driving_scope here{*this, &me};
            run_one(context_);
        }
        lock.lock();
        driven_ = false;
        if (!me.operations.empty()) run_operations(me, lock);
    }
    drivers_.erase(std::find(drivers_.begin(), drivers_.end(), &me));
    if (is_guest()) own_turn_.notify_all();
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
    // A caller that is there but does not drive is on an operation, or about to leave.
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
            {
                const driving_scope here{*this};
                run_one(context_);
            }
            lock.lock();
        } while (!stopping_ && drivers_.size() == away_);
        driven_ = false;
        step_aside();
    }
}

}  // namespace pawl::net
