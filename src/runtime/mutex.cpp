#include <pawl/mutex.hpp>

#include "net/own_process.hpp"
#include "net/remote_operation.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"

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

[[noreturn]] void refuse(std::errc why, const std::string& what) {
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

    bool acquire(millis wait) {
        // First: in the child of a fork nobody may be there who lets a lock go.
        if (home_->is_elsewhere()) throw std::logic_error{net::opened_before_fork};
        if (find() != nullptr)
            refuse(std::errc::resource_deadlock_would_occur,
                   "this thread has locked '" + key_ + "' already");
        const runtime::link::visit on{*home_};
        if (!on) throw store_error{net::locks_closed()};
        auto answer = on.loop().wait_for(engine::acquire_with_reason(
            on.running(), key_, options_, wait_policy{.wait = wait}, closing_));
        if (std::holds_alternative<runtime::cancelled>(answer.value()))
            throw store_error{net::locks_closed()};
        auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&answer.value());
        if (held == nullptr) return false;
        auto mine = std::make_unique<pawl::lease>(std::move(*held));
        const std::lock_guard lock{mutex_};
        holders_.push_back({std::this_thread::get_id(), std::move(mine)});
        return true;
    }

    const pawl::lease& held(const char* what) const {
        const auto* mine = find();
        if (mine == nullptr) refuse_stranger(what);
        return *mine;
    }

    pawl::lease take(const char* what) {
        const std::lock_guard lock{mutex_};
        const auto mine = std::ranges::find(holders_, std::this_thread::get_id(), &holder::thread);
        if (mine == holders_.end()) refuse_stranger(what);
        auto ending = std::move(*mine->held);
        holders_.erase(mine);
        return ending;
    }

private:
    struct holder {
        std::thread::id thread;
        std::unique_ptr<pawl::lease> held;  // stays where it is while others come and go
    };

    const pawl::lease* find() const {
        const std::lock_guard lock{mutex_};
        const auto mine = std::ranges::find(holders_, std::this_thread::get_id(), &holder::thread);
        return mine == holders_.end() ? nullptr : mine->held.get();
    }

    [[noreturn]] void refuse_stranger(const char* what) const {
        refuse(std::errc::operation_not_permitted,
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

const std::string& mutex::key() const noexcept { return state_->key(); }

void mutex::lock() {
    while (!state_->acquire(wait_max)) continue;
}

bool mutex::try_lock() { return state_->acquire(millis{0}); }
bool mutex::wait_for_key(millis wait) { return state_->acquire(wait); }

void mutex::unlock() { const auto ending = state_->take("unlock()"); }

release_outcome mutex::unlock_and_wait() { return state_->take("unlock_and_wait()").release(); }

const lease& mutex::lease() const { return state_->held("lease()"); }

void mutex::check() const {
    const auto& mine = state_->held("check()");
    if (!mine.valid()) throw lease_lost{key(), mine.lost().value_or(loss_reason::validity_ended)};
}

}  // namespace pawl
