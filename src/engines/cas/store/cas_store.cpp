#include "engines/cas/store/make_cas_store.hpp"

#include "engines/cas/store/cas_store.hpp"

#include <algorithm>

namespace pawl::cas {

cas_store::cas_store(net::loop& where, cas_settings settings, std::shared_ptr<medium> on)
    : settings_{std::move(settings)},
      records_{std::make_shared<versioned_records>(
          where, on, settings_.skew.value_or(std::chrono::ceil<millis>(on->traits().skew)))},
      space_{std::make_shared<name_space>(records_, settings_.common.timeout,
                                          settings_.common.quarantine)} {}

store_traits cas_store::traits() const noexcept {
    const auto& able = records_->traits();
    return {.strict_fencing = !able.forgets || settings_.common.quarantine.has_value(),
            .notifies = able.watches,
            .atomic_batch = false,
            .ttl_min = able.ttl_min,
            .ttl_step = able.ttl_step};
}

millis cas_store::rounded(millis ttl) const {
    const auto step = std::max(records_->traits().ttl_step, millis{1});
    const auto least = std::max(ttl, records_->traits().ttl_min);
    return (least + step - millis{1}) / step * step;
}

result<lease_rules> cas_store::read_lease(const std::string& key, const seen& stands) const {
    if (stands.at.empty()) return lease_rules{lease_record{}};
    auto read = parse_lease(stands.text);
    if (read.has_error()) return records_->unreadable(key, read.error());
    return lease_rules{std::move(*read)};
}

std::optional<seen> cas_store::known(const std::string& key) const {
    const auto* found = records_->find(key);
    return found == nullptr ? std::nullopt : std::optional{found->stands};
}

instant::duration cas_store::age_of(const std::string& key, fence_token token) const {
    const auto* mine = records_->find(key);
    if (mine == nullptr || mine->holder != token) return instant::duration::zero();
    return std::max(records_->now() - mine->granted, instant::duration::zero());
}

async<bool> cas_store::amend_lease(std::string key, std::optional<seen> known, lease_step step,
                                   std::optional<instant> until) {
    const auto self = shared_from_this();
    result<instant> open{until.value_or(instant{})};
    if (!until) open = co_await space_->ready();
    if (open.has_error()) co_return open.error();
    record_name name{record_kind::lease, key};
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        const auto now = records_->known_clock();
        auto lease = read_lease(key, stands);
        if (lease.has_error()) co_return lease.error();
        const auto effect = step(*lease, now);
        decision<bool> made{effect.was_holder};
        if (effect.changed) made.text = lease->text(std::move(nonce), now);
        co_return made;
    };
    auto amending = records_->amend(std::move(name), std::move(known), *open, std::move(decide));
    co_return co_await std::move(amending);
}

std::shared_ptr<lease_store> make_cas_store(net::loop& where, cas_settings settings,
                                            std::shared_ptr<medium> on) {
    return std::make_shared<cas_store>(where, std::move(settings), std::move(on));
}

}  // namespace pawl::cas
