#include <pawl/mutex.hpp>

#include "net/fork_check.hpp"
#include "net/remote_operation.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"
#include "runtime/grants_in_transit.hpp"

#include <pawl/errors.hpp>
#include <pawl/locks.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace pawl {
namespace {

using runtime::engine;

[[noreturn]] void reject(std::errc why, const std::string& what) {
    throw std::system_error{std::make_error_code(why), what};
}

}  // namespace

lease_lost::lease_lost(std::string_view key, loss_reason why)
    : std::runtime_error{"the lease of '" + std::string{key} +
                         "' was lost: " + std::string{name_of(why)}},
      reason_{why} {}

// Who holds it, by their threads: there may be more than one where the lease of the first was lost.
class mutex::state {
public:
    state(const runtime::core& where, std::string key, const lease_options& options)
        : home_{where.home()}, closing_{where.closing()}, key_{std::move(key)}, options_{options} {}

    const std::string& key() const noexcept { return key_; }
    // To be asked first: in the child of a fork() the thread that has the mutex may not be there.
    bool is_forked_child() const noexcept { return home_->is_forked_child(); }
    void check_here() const {
        if (is_forked_child()) throw std::logic_error{net::opened_before_fork};
    }

    bool acquire(millis wait, std::stop_token stop = {}) {
        check_here();
        if (find() != nullptr)
            reject(std::errc::resource_deadlock_would_occur,
                   "this thread has locked '" + key_ + "' already");
        const runtime::link::visit on{*home_};
        if (!on) throw store_error{net::locks_closed()};
        const runtime::listened_to whom{std::move(stop), {}, closing_};
        const runtime::combined_stop told{whom.program, whom.closing};
        auto answer = on.loop().wait_for(engine::acquire_with_reason(
            on.running(), key_, options_, wait_policy{.wait = wait}, told.token()));
        const bool called_off = std::holds_alternative<runtime::cancelled>(answer.value());
        if (called_off && whom.was_closed()) throw store_error{net::locks_closed()};
        auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&answer.value());
        if (held == nullptr) return false;
        auto mine = std::make_unique<pawl::lease>(std::move(*held));
        const std::lock_guard lock{mutex_};
        holders_.push_back({std::this_thread::get_id(), std::move(mine)});
        return true;
    }

    pawl::lease& held(const char* what) const {
        check_here();
        auto* mine = find();
        if (mine == nullptr) reject_stranger(what);
        return *mine;
    }

    pawl::lease take(const char* what) {
        const std::lock_guard lock{mutex_};
        const auto mine = std::ranges::find(holders_, std::this_thread::get_id(), &holder::thread);
        if (mine == holders_.end()) reject_stranger(what);
        auto ending = std::move(*mine->held);
        holders_.erase(mine);
        return ending;
    }

private:
    struct holder {
        std::thread::id thread;
        std::unique_ptr<pawl::lease> held;  // stays where it is while others come and go
    };

    pawl::lease* find() const {
        const std::lock_guard lock{mutex_};
        const auto mine = std::ranges::find(holders_, std::this_thread::get_id(), &holder::thread);
        return mine == holders_.end() ? nullptr : mine->held.get();
    }

    [[noreturn]] void reject_stranger(const char* what) const {
        reject(std::errc::operation_not_permitted,
               std::string{what} + " by a thread that has not locked '" + key_ + "'");
    }

    // Constant after construction
    const std::shared_ptr<runtime::link> home_;
    const std::stop_token closing_;
    const std::string key_;
    const lease_options options_;

    mutable std::mutex mutex_;
    std::vector<holder> holders_;  // under mutex_
};

mutex::mutex(locks& at, std::string key, const lease_options& options) {
    const auto& where = runtime::opened(at.core_.get());
    runtime::check_claim(*where.running(), key, options, {});
    if (options.occurrence)
        throw option_error{"a mutex takes no occurrence: it could be locked once only"};
    if (options.reentrancy != reentrancy::none)
        throw option_error{"a mutex takes no reentrancy: two threads would hold it"};
    state_ = std::make_unique<state>(where, std::move(key), options);
}

mutex::~mutex() = default;

const std::string& mutex::key() const& noexcept { return state_->key(); }

void mutex::lock() {
    while (!state_->acquire(wait_max)) continue;
}

bool mutex::lock(std::stop_token stop) {
    while (!stop.stop_requested())
        if (state_->acquire(wait_max, stop)) return true;
    return false;
}

bool mutex::try_lock() { return state_->acquire(millis{0}); }
bool mutex::wait_for_key(millis wait) { return state_->acquire(wait); }

// Guards call it in their destructors, and the key is the parent's.
void mutex::unlock() {
    if (state_->is_forked_child()) return;
    const auto ending = state_->take("unlock()");
}

release_outcome mutex::unlock_and_wait() {
    if (state_->is_forked_child()) return release_outcome::lost;
    return state_->take("unlock_and_wait()").release();
}

const lease& mutex::lease() const& { return state_->held("lease()"); }

bool mutex::renew() {
    if (state_->is_forked_child()) return false;
    return state_->held("renew()").renew();
}

void mutex::check() const {
    if (state_->is_forked_child()) throw lease_lost{key(), loss_reason::closed};
    if (const auto why = state_->held("check()").lost()) throw lease_lost{key(), *why};
}

}  // namespace pawl
