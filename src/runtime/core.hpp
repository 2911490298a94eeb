// What a `locks` object is made of: a loop, and the engine that runs on it.
#pragma once

#include "net/loop.hpp"
#include "net/timer.hpp"
#include "runtime/engine.hpp"
#include "runtime/link.hpp"
#include "runtime/slots.hpp"

#include <pawl/locks.hpp>
#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace pawl::runtime {

using store_maker = std::function<std::shared_ptr<lease_store>(net::loop&)>;
using journal_maker = std::function<std::shared_ptr<journal>(net::loop&)>;

// How long to go on trying to record a run that has ended; afterwards its record stays as it
// is.
constexpr millis recording_timeout{600'000};

// Of this machine; "localhost" where it has none.
std::string host_name();

// Bodies run on threads of their own, and use the core: it ends after them, and after calls that
// block.
class core {
public:
    // `clock` is another than the system's, for tests that turn it.
    core(const store_maker& make, store_settings settings, open_options options,
         journal_maker make_journal = {}, net::simulated_node* clock = nullptr);
    ~core();
    core(const core&) = delete;
    core& operator=(const core&) = delete;

    net::loop& loop() { return *loop_; }
    // On the loop: stops what is under way, and ends when all of it has ended, and when releases
    // that have begun have reached the store, or have had their time. Twice costs nothing.
    static boost::asio::awaitable<bool> end(core& self);
    // Ends one without waiting: in the context whose guest it is. Any thread.
    static void end_in_its_context(std::unique_ptr<core> what) noexcept;
    // Kept by each of them: where a guest's host goes first, the last may go after the core.
    struct activities {
        explicit activities(const net::loop_executor& where) : idle{where} {}
        std::size_t count = 0;
        net::timer idle;
    };
    // One run, leader or share that goes on. Made and destroyed on the loop.
    class activity {
    public:
        explicit activity(core& where) : all_{where.activities_} { ++all_->count; }
        ~activity() {
            if (--all_->count == 0) all_->idle.cancel();
        }
        activity(const activity&) = delete;
        activity& operator=(const activity&) = delete;

    private:
        std::shared_ptr<activities> all_;
    };
    // Requested when the core is to end: each activity listens to it.
    std::stop_token closing() const { return closing_.get_token(); }
    const std::shared_ptr<engine>& running() const { return engine_; }
    const std::shared_ptr<slot_claimer>& slots() const { return slots_; }
    const std::shared_ptr<link>& home() const { return link_; }
    // How long a node has to record how a run ended before others do. Set before anything runs,
    // by tests.
    millis recording_timeout = runtime::recording_timeout;
    bool keeps_records() const { return static_cast<bool>(make_journal_); }
    // Opened when it is first asked for; null where there is none. Blocks, and throws store_error.
    // Thread-safe, and not for the loop's own thread.
    std::shared_ptr<journal> run_journal();
    // The same for callers on the loop.
    boost::asio::awaitable<std::shared_ptr<journal>> find_records();

private:
    // Tells all activities to stop, and ends with the last.
    static boost::asio::awaitable<void> end_activities(core& self);
    static boost::asio::awaitable<void> end_releases(core& self);

    // First, so that it goes last: coroutines that still run die with it.
    std::shared_ptr<net::loop> loop_;
    std::shared_ptr<engine> engine_;
    std::shared_ptr<slot_claimer> slots_;
    std::shared_ptr<link> link_;
    const journal_maker make_journal_;
    std::stop_source closing_;
    // On the loop
    std::shared_ptr<journal> records_;
    bool has_ended_ = false;
    const std::shared_ptr<activities> activities_ =
        std::make_shared<activities>(loop_->get_executor());
};

// What a call of the facade stands on. Throws std::logic_error for an object that was moved from,
// and in the child of a fork().
core& opened(core* where);

// A call of the facade that blocks: the core does not end before it.
class blocking_call {
public:
    explicit blocking_call(core* where);

    core& operator*() const { return core_; }
    core* operator->() const { return &core_; }

private:
    core& core_;
    link::visit visit_;
};

// Where an awaited call goes; the core does not end before it is let go of. Throws std::logic_error
// in the child of a fork(), and store_error after the end of the core.
std::shared_ptr<link::visit> reach(link& home);

}  // namespace pawl::runtime
