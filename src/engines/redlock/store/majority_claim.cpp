#include "engines/redlock/store/majority_claim.hpp"

#include "base/ensure.hpp"

#include <algorithm>

namespace pawl::redlock {
namespace {

// A repeated claim gets what was confirmed before, and everybody else what was promised.
std::optional<fence_token> own_token(const std::optional<vote>& answer) {
    if (!answer) return std::nullopt;
    if (const auto* fresh = std::get_if<promised>(&*answer)) return fresh->own;
    if (const auto* again = std::get_if<held_already>(&*answer)) return again->token;
    return std::nullopt;
}

}  // namespace

majority_claim::majority_claim(std::size_t nodes, std::size_t majority)
    : majority_{majority}, members_(nodes) {}

std::size_t majority_claim::count(stage at) const {
    return static_cast<std::size_t>(std::count_if(
        members_.begin(), members_.end(), [&](const member_state& one) { return one.at == at; }));
}

bool majority_claim::is_candidate(const member_state& one) const {
    return own_token(one.answer).has_value();
}

// ---- Promises

void majority_claim::voted(std::size_t node, vote answer, std::vector<order>& orders) {
    auto& one = members_[node];
    base::ensure(!one.answer);
    const auto* failed = std::get_if<failure>(&answer);
    const bool may_arrive = failed != nullptr && failed->code == errc::outcome_unknown;
    one.answer = std::move(answer);
    const auto own = own_token(one.answer);
    if (!own) one.at = stage::out;
    if (over_) {
        if (own) orders.push_back({order::kind::undo, node, *own});
        if (may_arrive) orders.push_back({order::kind::forget, node, {}});
        return;
    }
    // The token of the lock is fixed: a node that promised late joins under it.
    if (number(token_) != 0) {
        if (own) confirm_from(node, orders);
        return consider_confirmations(orders);
    }
    consider_promises(orders);
}

void majority_claim::confirm_from(std::size_t node, std::vector<order>& orders) {
    auto& one = members_[node];
    one.at = stage::confirming;
    orders.push_back({order::kind::confirm, node, *own_token(one.answer)});
}

void majority_claim::consider_promises(std::vector<order>& orders) {
    std::size_t promises = 0, answers = 0, healthy = 0, again = 0, done = 0;
    fence_token highest{}, before{};
    for (const auto& one : members_) {
        if (!one.answer) continue;
        ++answers;
        if (!std::holds_alternative<failure>(*one.answer)) ++healthy;
        if (std::holds_alternative<already_done>(*one.answer)) ++done;
        const auto own = own_token(one.answer);
        if (!own) continue;
        ++promises;
        highest = std::max(highest, *own);
        if (!std::holds_alternative<held_already>(*one.answer)) continue;
        before = std::max(before, *own);
        ++again;
    }
    const auto missing = members_.size() - answers;
    const auto same = static_cast<std::size_t>(
        std::count_if(members_.begin(), members_.end(), [&](const member_state& one) {
            const auto* held = one.answer ? std::get_if<held_already>(&*one.answer) : nullptr;
            return held != nullptr && held->token == before;
        }));
    if (promises >= majority_) {
        // A repeated claim: those that have not answered may show that it had been won.
        if (again > 0 && same < majority_ && missing > 0) return;
        token_ = same >= majority_ ? before : highest;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            auto& one = members_[i];
            if (!is_candidate(one)) continue;
            const auto* held = std::get_if<held_already>(&*one.answer);
            if (same >= majority_ && held != nullptr && held->token == before)
                one.at = stage::agreed;
            else
                confirm_from(i, orders);
        }
        return consider_confirmations(orders);
    }
    if (promises + missing >= majority_) return;
    // Whether it is busy or out of reach is for a majority to say, if there still can be one.
    if (healthy < majority_ && missing > 0 && healthy + missing >= majority_) return;
    // Likewise whether the occurrence is done, which ends the claim for ever.
    if (done > 0 && done < majority_ && missing > 0 && done + missing >= majority_ &&
        !who_holds_it())
        return;
    give_up(explain_defeat(), orders);
}

// ---- Confirmations

void majority_claim::confirmed(std::size_t node, result<bool> agreed, std::vector<order>& orders) {
    auto& one = members_[node];
    base::ensure(one.at == stage::confirming);
    if (agreed.has_error()) {
        one.at = stage::unknown;
        one.answer = vote{agreed.error()};
    } else {
        one.at = *agreed ? stage::agreed : stage::rejected;
        // What it promised would keep the key from others for the whole TTL, and help no client.
        if (!*agreed && !over_) orders.push_back({order::kind::undo, node, *own_token(one.answer)});
    }
    if (!over_) consider_confirmations(orders);
}

void majority_claim::consider_confirmations(std::vector<order>& orders) {
    if (outcome_) return;
    const auto agreed = count(stage::agreed);
    if (agreed >= majority_) {
        outcome_ = won{token_};
        return;
    }
    if (agreed + count(stage::confirming) + count(stage::asked) >= majority_) return;
    std::vector<failure> failures;
    bool may_be_held = false;
    for (const auto& one : members_) {
        const auto* why = one.answer ? std::get_if<failure>(&*one.answer) : nullptr;
        if (why == nullptr) continue;
        failures.push_back(*why);
        may_be_held = may_be_held || one.at == stage::unknown;
    }
    if (may_be_held) {
        // A majority may have confirmed: only the claimer can undo that, or ask for it again.
        outcome_ = explain_minority(failures, agreed, members_.size(), errc::outcome_unknown);
        return;
    }
    // Promises ran out before they were confirmed.
    give_up(split{busy{{}, {}, millis{1}, busy_reason::held}}, orders);
}

// ---- Defeat

void majority_claim::give_up(outcome why, std::vector<order>& orders) {
    outcome_ = std::move(why);
    abandon(orders);
}

void majority_claim::abandon(std::vector<order>& orders) {
    if (over_) return;
    over_ = true;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto& one = members_[i];
        if (!one.answer || one.at == stage::rejected) continue;
        if (const auto own = own_token(one.answer))
            orders.push_back({order::kind::undo, i, *own});
        else if (const auto* failed = std::get_if<failure>(&*one.answer);
                 failed != nullptr && failed->code == errc::outcome_unknown)
            orders.push_back({order::kind::forget, i, {}});
    }
}

majority_claim::outcome majority_claim::explain_defeat() const {
    std::size_t healthy = 0, done = 0, quarantined = 0, early = 0;
    occurrence last_done{};
    for (const auto& one : members_) {
        if (!one.answer || std::holds_alternative<failure>(*one.answer)) continue;
        ++healthy;
        if (const auto* told = std::get_if<already_done>(&*one.answer)) {
            last_done = done == 0 ? told->last : std::max(last_done, told->last);
            ++done;
        }
        if (const auto* told = std::get_if<turned_down>(&*one.answer)) {
            if (told->reason == busy_reason::quarantined) ++quarantined;
            if (told->reason == busy_reason::early) ++early;
        }
    }
    if (healthy < majority_) return too_few();
    const auto remaining = until_majority_may_be_free();
    if (auto held = who_holds_it()) return *std::move(held);
    if (done >= majority_) return already_done{last_done};
    if (auto ahead = who_is_ahead()) return *std::move(ahead);
    if (quarantined > 0) return busy{{}, {}, remaining, busy_reason::quarantined};
    if (early > 0) return busy{{}, {}, remaining, busy_reason::early};
    // Some say it is done, and others have not heard of it: those that are silent know.
    if (done > 0 && healthy < members_.size()) return too_few();
    return split{busy{{}, {}, remaining, busy_reason::held}};
}

// A holder that was confirmed, or no holder while the key is in cooldown: what the node says that
// has seen most of it.
std::optional<busy> majority_claim::who_holds_it() const {
    const turned_down* newest = nullptr;
    for (const auto& one : members_) {
        const auto* told = one.answer ? std::get_if<turned_down>(&*one.answer) : nullptr;
        if (told == nullptr) continue;
        const bool in_cooldown = told->reason == busy_reason::cooldown;
        if (!in_cooldown && (told->reason != busy_reason::held || number(told->holder) == 0))
            continue;
        if (newest == nullptr || told->last > newest->last ||
            (told->last == newest->last && in_cooldown))
            newest = told;
    }
    if (newest == nullptr) return std::nullopt;
    return busy{newest->holder, newest->owner, until_majority_may_be_free(newest), newest->reason};
}

// Another claim that a majority has promised the key to.
std::optional<busy> majority_claim::who_is_ahead() const {
    for (const auto& one : members_) {
        const auto* told = one.answer ? std::get_if<turned_down>(&*one.answer) : nullptr;
        if (told == nullptr || told->reason != busy_reason::held) continue;
        const auto promises = static_cast<std::size_t>(
            std::count_if(members_.begin(), members_.end(), [&](const member_state& other) {
                const auto* same =
                    other.answer ? std::get_if<turned_down>(&*other.answer) : nullptr;
                return same != nullptr && same->reason == busy_reason::held && same->id == told->id;
            }));
        if (promises >= majority_)
            return busy{{}, told->owner, until_majority_may_be_free(), busy_reason::held};
    }
    return std::nullopt;
}

// What nodes say that have not heard of the newest yet is about to change, and so is what one says
// that has promised the key and was told nothing since.
millis majority_claim::until_majority_may_be_free(const turned_down* newest) const {
    std::vector<millis> known;
    for (const auto& one : members_) {
        if (!one.answer || std::holds_alternative<failure>(*one.answer)) continue;
        const auto* told = std::get_if<turned_down>(&*one.answer);
        const bool others = told != nullptr && newest != nullptr && told != newest;
        const bool promised =
            others && told->reason == busy_reason::held && number(told->holder) == 0;
        const bool behind = others && number(told->holder) != 0 &&
                            (told->last < newest->last || told->holder != newest->holder);
        const bool stale = promised || behind;
        known.push_back(told == nullptr ? millis{0}
                                        : (stale ? newest->remaining : told->remaining));
    }
    std::sort(known.begin(), known.end());
    if (known.empty()) return millis{1};
    return std::max(known[std::min(known.size(), majority_) - 1], millis{1});
}

failure majority_claim::too_few() const {
    std::vector<failure> failures;
    std::size_t healthy = 0;
    for (const auto& one : members_) {
        const auto* why = one.answer ? std::get_if<failure>(&*one.answer) : nullptr;
        if (why != nullptr) failures.push_back(*why);
        if (one.answer && why == nullptr) ++healthy;
    }
    return explain_minority(failures, healthy, members_.size(), errc::unreachable);
}

failure explain_minority(const std::vector<failure>& failures, std::size_t answered,
                         std::size_t nodes, errc code) {
    const auto majority = nodes / 2 + 1;
    failure all{code, {}};
    std::size_t permanent = 0, standing = 0;
    std::optional<errc> reason;
    for (const auto& one : failures) {
        all.detail += (all.detail.empty() ? "" : "; ") + one.detail;
        if (!is_outage(one)) ++standing;
        if (may_pass(one.code)) continue;
        ++permanent;
        if (!reason) reason = one.code;
    }
    // Even if everybody else came back, these would stand in the way.
    if (code == errc::unreachable && nodes - permanent < majority) all.code = *reason;
    all.answered = may_pass(all.code) && nodes - standing < majority;
    all.detail += (all.detail.empty() ? "" : ": ") + std::to_string(answered) + " of " +
                  std::to_string(nodes) + " nodes answered, " + std::to_string(majority) + " must";
    return all;
}

}  // namespace pawl::redlock
