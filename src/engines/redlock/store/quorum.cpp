#include "engines/redlock/store/quorum.hpp"

#include "base/ensure.hpp"
#include "engines/redlock/store/majority_claim.hpp"
#include "engines/rules/store/retention.hpp"

#include <algorithm>

namespace pawl::redlock {
namespace {

redlock_settings with_kept_records(redlock_settings settings) {
    settings.common.retention = rules::kept_for(settings.common.retention);
    return settings;
}

}  // namespace

quorum::quorum(net::loop& where, redlock_settings settings)
    : lock_prefix{settings.common.name_space + ":redlock:"},
      fence_prefix{settings.common.name_space + ":redlock-fence:"},
      channel_prefix{settings.common.name_space + ":redlock-changed:"},
      index{settings.common.name_space + ":redlocks"},
      marker{settings.common.name_space + ":redlock-marker"},
      settings_{with_kept_records(std::move(settings))},
      executor_{where.get_executor()} {
    base::ensure(settings_.nodes.size() >= nodes_min && settings_.nodes.size() <= nodes_max);
    for (auto one : settings_.nodes) {
        one.common = settings_.common;
        nodes_.push_back(
            node::make(where, std::make_shared<const redis::redis_settings>(std::move(one))));
    }
}

std::vector<std::optional<failure>> quorum::left_out() const {
    std::vector<std::optional<failure>> why(size());
    const auto down =
        std::count_if(nodes_.begin(), nodes_.end(), [](const auto& one) { return one->is_down(); });
    const bool suffice = size() - static_cast<std::size_t>(down) >= majority();
    for (std::size_t i = 0; i < size(); ++i) {
        if (!nodes_[i]->is_down()) continue;
        nodes_[i]->want();
        if (!suffice) continue;
        const auto last = nodes_[i]->why_down();
        // Nothing is sent, so nothing can have happened.
        why[i] = failure{last.code == errc::outcome_unknown ? errc::unreachable : last.code,
                         last.detail, last.answered};
    }
    return why;
}

std::shared_ptr<round> quorum::ask(const question& what) const {
    auto votes = std::make_shared<round>(size());
    const auto missing = left_out();
    for (std::size_t i = 0; i < size(); ++i) {
        if (missing[i])
            votes->take(i, *missing[i]);
        else
            what(*nodes_[i], i, votes->taker(i));
    }
    return votes;
}

failure quorum::minority(const round& votes, errc code) const {
    return explain_minority(votes.failures(), votes.healthy(), size(), code);
}

void quorum::close_from_anywhere() {
    for (const auto& one : nodes_) one->close_from_anywhere();
}

}  // namespace pawl::redlock
