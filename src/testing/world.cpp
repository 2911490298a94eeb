#include <pawl/testing.hpp>

#include "engines/memory/journal/journal_data.hpp"
#include "engines/memory/journal/memory_journal.hpp"
#include "engines/memory/store/data_set.hpp"
#include "engines/memory/store/memory_store.hpp"
#include "net/loop.hpp"
#include "runtime/core.hpp"
#include "runtime/own_connections.hpp"
#include "testing/failing_store.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

namespace pawl::testing {
namespace {

using boost::asio::awaitable;

// Beyond it, sums of ten years and more would not hold.
constexpr std::chrono::sys_days last_begin{std::chrono::year{2200} / 1 / 1};
// From it no margin leads below zero.
constexpr instant first_instant{std::chrono::hours{24}};
// What is ready on a loop, and all that it makes ready there, is done after so many turns; what it
// makes ready on other loops, after so many rounds over all.
constexpr int turns_to_settle = 64;
constexpr int rounds_to_settle = 3;

// Read by all threads, moved by one at a time.
class turned_clock final : public net::simulated_node {
public:
    explicit turned_clock(time::wall_instant begins) : begins_{begins} {}
    instant now() const override {
        return instant{instant::duration{now_.load(std::memory_order_acquire)}};
    }
    time::wall_instant wall() const override {
        return begins_ + std::chrono::floor<std::chrono::microseconds>(now() - first_instant);
    }
    std::uint64_t random() override {
        const std::lock_guard lock{mutex_};
        return random_();
    }
    void set(instant when) {
        now_.store(when.time_since_epoch().count(), std::memory_order_release);
    }

private:
    const time::wall_instant begins_;
    std::atomic<instant::rep> now_{first_instant.time_since_epoch().count()};
    std::mutex mutex_;
    std::mt19937_64 random_;  // under mutex_; the same in each run of a test
};

// On the loop it was asked for.
awaitable<bool> settle(net::loop& where) {
    for (int turn = 0; turn < turns_to_settle; ++turn)
        co_await boost::asio::post(where.get_executor(), boost::asio::use_awaitable);
    co_return true;
}

awaitable<bool> fire(net::loop& where) {
    where.clocks().fire();
    co_return true;
}

awaitable<instant> next_timer(net::loop& where) { co_return where.clocks().next(); }

awaitable<bool> take_away(std::shared_ptr<runtime::engine> what, std::string key) {
    if (what) what->take_away(key);
    co_return true;
}

}  // namespace

class world::state {
public:
    explicit state(time::wall_instant begins) : clock_{begins} {}

    locks open(open_options options) {
        if (!options.journal.empty() && options.journal != "none")
            throw option_error{
                "a world for tests has a journal of its own: leave `journal` out, or name 'none'"};
        if (options.executor || !runtime::engines_of(options.connections).empty())
            throw option_error{
                "a world advances the time of pawl's own loops: leave `executor` and `connections` "
                "out"};
        runtime::journal_maker make_journal;
        if (options.journal.empty())
            make_journal = [kept = records_](net::loop&) {
                return memory::make_memory_journal(kept);
            };
        const auto make = [this](net::loop& where) {
            return make_failing_store(memory::make_memory_store(where, settings_, data_), plan_);
        };
        auto core = std::make_unique<runtime::core>(make, settings_, std::move(options),
                                                    std::move(make_journal), &clock_);
        const std::lock_guard lock{mutex_};
        std::erase_if(processes_, [](const process& one) { return one.loop() == nullptr; });
        processes_.push_back({core->home()});
        return locks{std::move(core)};
    }

    instant now() const { return clock_.now(); }
    time::wall_instant wall() const { return clock_.wall(); }

    void advance(millis by) {
        if (by.count() < 0) throw option_error{"time cannot be turned back"};
        // Clocks count nanoseconds, of which 64 bits hold 292 years.
        if (by > std::chrono::floor<millis>(std::chrono::years{10}))
            throw option_error{"time is advanced by ten years at a time at most"};
        check_may_turn();
        const std::lock_guard turning{turn_mutex_};
        turn_to(clock_.now() + by);
    }

    void set_frozen(const locks& which, bool frozen) {
        if (!mark_frozen(which, frozen))
            throw option_error{"this locks object is of no process of this world"};
        if (!frozen) advance(millis{0});
    }

    bool lose(const std::string& key) {
        check_may_turn();
        const auto seen = data_->inspect(key);
        if (!seen || number(seen->holder) == 0 ||
            !data_->force_release(key, seen->holder, millis{0}))
            return false;
        const std::lock_guard turning{turn_mutex_};
        for (auto* loop : awake()) loop->wait_for(take_away(engine_of(*loop), key));
        turn_to(clock_.now());
        return true;
    }

    failure_plan& plan() { return *plan_; }

private:
    struct process {
        std::shared_ptr<runtime::link> home;
        bool frozen = false;

        // Null: it has ended.
        net::loop* loop() const {
            const auto way = home->enter();
            return way ? &way->loop() : nullptr;
        }
    };

    // The thread that turns the time drives the loops, and would wait for itself.
    void check_may_turn() {
        const std::lock_guard lock{mutex_};
        for (const auto& one : processes_)
            if (const auto way = one.home->enter(); way && way->loop().is_driving())
                throw std::logic_error{
                    "the time of a world was turned in a callback on pawl's own loop, such as a "
                    "stop callback: turn it on another thread"};
    }

    bool mark_frozen(const locks& which, bool frozen) {
        const std::lock_guard lock{mutex_};
        bool found = false;
        for (auto& one : processes_) {
            const auto way = one.home->enter();
            if (!way || !is_loop_of(which, way->loop())) continue;
            one.frozen = frozen;
            found = true;
        }
        return found;
    }

    static bool is_loop_of(const locks& which, net::loop& loop) {
        return which.get_executor() == boost::asio::any_io_executor{loop.get_executor()};
    }

    std::vector<net::loop*> awake() {
        const std::lock_guard lock{mutex_};
        std::vector<net::loop*> all;
        for (const auto& one : processes_)
            if (auto* loop = one.loop(); loop != nullptr && !one.frozen) all.push_back(loop);
        return all;
    }

    std::shared_ptr<runtime::engine> engine_of(const net::loop& loop) {
        const std::lock_guard lock{mutex_};
        for (const auto& one : processes_) {
            const auto way = one.home->enter();
            if (way && &way->loop() == &loop) return way->running();
        }
        return nullptr;
    }

    // REQUIRES: turn_mutex_ is held.
    void turn_to(instant until) {
        settle_all();
        for (auto next = next_due(); next <= until; next = next_due()) {
            clock_.set(std::max(next, clock_.now()));
            for (auto* loop : awake()) loop->wait_for(fire(*loop));
            settle_all();
        }
        clock_.set(until);
    }

    instant next_due() {
        auto first = instant::max();
        for (auto* loop : awake()) first = std::min(first, loop->wait_for(next_timer(*loop)));
        return first;
    }

    void settle_all() {
        for (int round = 0; round < rounds_to_settle; ++round)
            for (auto* loop : awake()) loop->wait_for(settle(*loop));
    }

    rules::store_time store_time() const {
        return {std::chrono::floor<rules::micros>(clock_.now().time_since_epoch()),
                clock_.wall().time_since_epoch()};
    }

    // Constant after construction
    turned_clock clock_;
    const store_settings settings_{};
    const std::shared_ptr<memory::data_set> data_ =
        std::make_shared<memory::data_set>([this] { return store_time(); });
    const std::shared_ptr<memory::journal_data> records_ = std::make_shared<memory::journal_data>(
        [this] { return std::chrono::floor<millis>(clock_.wall()).time_since_epoch().count(); });
    const std::shared_ptr<failure_plan> plan_ = std::make_shared<failure_plan>();

    std::mutex turn_mutex_;  // who turns the time
    std::mutex mutex_;
    std::vector<process> processes_;  // under mutex_
};

world::world(std::chrono::system_clock::time_point begins) {
    if (begins < std::chrono::sys_days{} || begins > last_begin)
        throw option_error{"a world begins between 1970 and 2200"};
    state_ = std::make_unique<state>(std::chrono::floor<std::chrono::microseconds>(begins));
}
world::~world() = default;

locks world::open(open_options options) { return state_->open(std::move(options)); }
instant world::now() const { return state_->now(); }
std::chrono::system_clock::time_point world::wall() const { return state_->wall(); }
void world::advance(millis by) { state_->advance(by); }
void world::freeze(const locks& process) { state_->set_frozen(process, true); }
void world::thaw(const locks& process) { state_->set_frozen(process, false); }
bool world::lose(std::string_view key) { return state_->lose(std::string{key}); }

void world::fail_next(errc why, int times) {
    if (times < 1) throw option_error{"fail_next() wants 1 operation or more"};
    state_->plan().set(why, times);
}

void world::fail_all(errc why) { state_->plan().set(why, failure_plan::without_end); }
void world::recover() { state_->plan().set(errc::unreachable, 0); }

}  // namespace pawl::testing
