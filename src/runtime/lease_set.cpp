#include <pawl/lease_set.hpp>

#include "net/fork_check.hpp"
#include "runtime/last_handle.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace pawl {
namespace {

using runtime::engine;
using runtime::last_handle;
using runtime::lease_state;

struct stop_all {
    std::stop_source all;
    // What is called may end the set: the state of the stop has to outlast that.
    void operator()() const {
        auto kept = all;
        kept.request_stop();
    }
};

[[noreturn]] void reject_empty() {
    throw std::logic_error{"this set of leases is empty: it was moved from or released"};
}

}  // namespace

// The callbacks go first: they touch nothing but a source that they share.
struct lease_set::state {
    explicit state(std::vector<lease> held) : leases{std::move(held)} {
        for (const auto& one : leases)
            forwards.push_back(
                std::make_unique<std::stop_callback<stop_all>>(one.stop_token(), stop_all{stop}));
    }

    // In the child of a fork() the end of a callback could wait for ever, for a thread of the
    // parent's that was running it.
    ~state() {
        if (process.is_forked_child())
            net::keep_for_ever(std::make_shared<forward_list>(std::move(forwards)));
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    using forward_list = std::vector<std::unique_ptr<std::stop_callback<stop_all>>>;

    const net::fork_check process;
    std::stop_source stop;
    std::vector<lease> leases;
    forward_list forwards;
};

lease_set::lease_set(std::vector<lease> held)
    : state_{held.empty() ? nullptr : std::make_unique<state>(std::move(held))} {}
lease_set::~lease_set() = default;
lease_set::lease_set(lease_set&&) noexcept = default;
lease_set& lease_set::operator=(lease_set&&) noexcept = default;

const std::vector<lease>& lease_set::leases() const& {
    static const std::vector<lease> none;
    return state_ ? state_->leases : none;
}

std::size_t lease_set::size() const noexcept { return state_ ? state_->leases.size() : 0; }

fence_token lease_set::token(std::string_view key) const {
    const auto& all = leases();
    const auto found =
        std::ranges::find_if(all, [&](const lease& one) { return one.key() == key; });
    if (found == all.end())
        throw std::out_of_range{"no key '" + std::string{key} + "' in this set of leases"};
    return found->token();
}

bool lease_set::valid() const { return size() > 0 && std::ranges::all_of(leases(), &lease::valid); }

instant lease_set::valid_until() const {
    if (size() == 0) return instant::min();
    return std::ranges::min_element(leases(), {}, &lease::valid_until)->valid_until();
}

std::stop_token lease_set::stop_token() const {
    // In the child of a fork only its leases know.
    if (size() > 0 && lost() != loss_reason::closed) return state_->stop.get_token();
    std::stop_source fired;
    fired.request_stop();
    return fired.get_token();
}

std::optional<loss_reason> lease_set::lost() const {
    for (const auto& one : leases())
        if (const auto why = one.lost()) return why;
    return std::nullopt;
}

void lease_set::mark_not_started() {
    if (!state_) reject_empty();
    for (auto& one : state_->leases) one.mark_not_started();
}

bool lease_set::renew() {
    if (!state_ || state_->process.is_forked_child()) return false;
    std::vector<std::shared_ptr<lease_state>> all;
    for (const auto& one : state_->leases) all.push_back(one.held_);
    return runtime::wait_at(*all.front()->home, renewal::unknown, [&](const auto& what) {
               return engine::renew(what, all);
           }) == renewal::renewed;
}

release_outcome lease_set::release() {
    if (!state_) reject_empty();
    const auto ending = std::move(state_);
    if (ending->process.is_forked_child()) return release_outcome::lost;
    bool shared = false;
    std::vector<last_handle> last;
    for (auto& one : ending->leases) {
        auto who = std::move(one.held_);
        if (who->drop_handle())
            last.emplace_back(std::move(who));
        else
            shared = true;
    }
    if (last.empty()) return release_outcome::still_shared;
    const auto home = last.front().get()->home;
    // All at once: a store that is away does not cost the time of each. In the background where
    // this is no place to wait, which is thrown.
    const auto how = runtime::wait_at(*home, release_outcome::unknown, [&](const auto& what) {
        std::vector<std::shared_ptr<lease_state>> all;
        for (const auto& one : last) all.push_back(one.get());
        return engine::release(what, std::move(all));
    });
    for (auto& one : last) one.take();
    return shared && how == release_outcome::released ? release_outcome::still_shared : how;
}

}  // namespace pawl
