// The store itself: what its verbs share. They are defined in store_claims.cpp, store_renewals.cpp,
// store_endings.cpp and store_views.cpp; the guard is in etcd_store.cpp.
#pragma once

#include "base/text.hpp"
#include "engines/etcd/client/client.hpp"
#include "engines/etcd/client/error_mapping.hpp"
#include "engines/etcd/store/epochs.hpp"
#include "engines/etcd/store/lease_pool.hpp"
#include "engines/etcd/store/lease_stream.hpp"
#include "engines/etcd/store/lease_text.hpp"
#include "engines/etcd/store/make_etcd_store.hpp"
#include "engines/etcd/store/transactions.hpp"
#include "engines/etcd/store/watch_registry.hpp"
#include "net/nonthrowing_store.hpp"

#include <pawl/spi/rules.hpp>

#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::etcd {

// How often a verb looks again when what it saw has changed before it could act.
constexpr int rounds_max = 16;
// Keys looked at by one transaction: etcd allows 128 operations unless --max-txn-ops says
// otherwise, and the marker is one of them. Where it allows fewer the number is halved, down to the
// least.
constexpr std::size_t look_max = 120;
constexpr std::size_t look_min = 7;
// How many requests of one verb are under way at a time.
constexpr std::size_t steps_at_once = 4;
// How long a withdrawn claim is remembered, and for how long one etcd lease serves those memories.
constexpr std::int64_t withdrawn_seconds = 3600;
constexpr auto withdrawn_stretch = std::chrono::minutes{30};
// etcd looks for leases that have ended twice a second, so a key outlives its last second.
constexpr millis expiry_lag{500};
constexpr std::size_t sweep_every = 1024;

// One lease that this store was granted: what its end and its renewal need to know.
struct granted_lease {
    fence_token token{};
    std::int64_t created = 0;  // the revision of the lock
    etcd_lease lease;
    instant granted{};  // when the answer was there
    std::string id;
    std::int64_t acquired = 0;
    std::string owner;
    std::optional<occurrence> done{};  // what the grant marked
};

// What lies in etcd of one key, all of one revision.
struct snapshot {
    std::int64_t revision = 0;
    std::optional<marker_text> marker;
    std::optional<wire::KeyValue> lock, pause, record, done;

    fence_token token_of(fence_token own, std::int64_t at) const noexcept {
        return marker ? marker->token_of(own, at) : own;
    }
};

inline std::optional<wire::KeyValue> first_of(const wire::ResponseOp& response) {
    const auto& got = response.response_range();
    if (got.kvs_size() == 0) return std::nullopt;
    return got.kvs(0);
}

inline std::optional<marker_text> marker_of(const wire::ResponseOp& response) {
    const auto found = first_of(response);
    return found ? parse_marker(found->value(), found->mod_revision()) : std::nullopt;
}

class etcd_store : public net::nonthrowing_store, public std::enable_shared_from_this<etcd_store> {
public:
    etcd_store(net::loop& where, std::shared_ptr<const etcd_settings> settings)
        : settings_{std::move(settings)},
          names_{settings_->common.name_space},
          client_{client::make(where, settings_)},
          renewals_{std::make_shared<lease_stream>(client_)},
          watches_{std::make_shared<watch_registry>(client_)},
          leases_{std::make_shared<lease_pool>(client_, renewals_)},
          epochs_{std::make_shared<epochs>(client_, leases_, names_)} {}

    ~etcd_store() override {
        client_->close_from_anywhere();
        renewals_->close_from_anywhere();
        watches_->close_from_anywhere();
    }

    store_traits traits() const noexcept override {
        return {.strict_fencing = true,
                .notifies = true,
                .atomic_batch = false,
                .ttl_min = std::chrono::seconds{1},
                .ttl_step = std::chrono::seconds{1}};
    }

    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override {
        return net::without_throwing(do_inspect_many(std::move(keys)));
    }

private:
    async<acquire_result<grant>> do_acquire(claim wanted) override;
    async<bool> do_withdraw(withdrawal given_up) override;
    async<std::vector<renewal>> do_renew(std::span<const held_lease> leases) override;
    async<bool> do_release(std::string key, fence_token token, release_options how) override;
    async<bool> do_force_release(std::string key, fence_token token, millis delay) override;
    async<std::optional<record>> do_inspect(std::string key) override;
    async<std::vector<std::optional<record>>> do_inspect_many(std::vector<std::string> keys);
    async<std::vector<snapshot>> look_at(std::span<const std::string> keys, instant deadline);
    async<page> do_list(std::string prefix, std::string after, std::size_t limit) override;
    async<void> do_wait(std::string key, fence_token seen) override;
    async<fence_result> do_fence(std::string resource, fence_token token, fence_rule rule) override;
    async<examination> do_examine() override;

    // An answer, or nothing when all is to be looked at again.
    template <class T>
    using again_or = std::optional<T>;
    struct attempt;

    async<again_or<acquire_result<grant>>> try_acquire(attempt& now);
    async<again_or<acquire_result<grant>>> wait_out_quarantine(const attempt& now);
    async<again_or<acquire_result<grant>>> reject_by_time(const attempt& now);
    micros trusted_from(const marker_text& marker) const;
    fence_token mint(const attempt& now) const;
    async<again_or<acquire_result<grant>>> explain(attempt& now, const wire::TxnResponse& got);
    async<again_or<acquire_result<grant>>> repeat(attempt& now, const wire::KeyValue& lock);
    async<again_or<acquire_result<grant>>> granted(attempt& now, const wire::TxnResponse& got);

    async<wire::TxnResponse> run(const transaction& what, effect may, request_limits limits);
    async<snapshot> look(const std::string& key, instant deadline);
    async<wire::LeaseTimeToLiveResponse> time_to_live(std::int64_t lease, instant deadline);
    async<millis> remaining(std::int64_t lease, instant deadline);
    async<bool> extend(const std::string& key, const wire::KeyValue& lock, millis ttl, bool bounded,
                       instant deadline);
    async<bool> move_lease(const std::string& key, const wire::KeyValue& lock, millis ttl,
                           instant deadline);
    async<millis> held_for(const std::string& key, fence_token token, std::int64_t acquired,
                           instant deadline);

    async<again_or<bool>> end_own(const std::string& key, fence_token token,
                                  const release_options& how, instant deadline);
    async<again_or<bool>> end_any(const std::string& key, fence_token token,
                                  const release_options& how, instant deadline);
    async<again_or<bool>> end_lapsed(const std::string& key, fence_token token,
                                     const release_options& how, const snapshot& seen,
                                     instant deadline);
    async<again_or<bool>> try_force_release(const std::string& key, fence_token token, millis delay,
                                            instant deadline);
    async<again_or<bool>> end_pause(const std::string& key, fence_token token, const snapshot& seen,
                                    instant deadline);
    async<again_or<bool>> take_back(const withdrawal& given_up, instant deadline);
    async<std::int64_t> pause_lease(const release_options& how, millis elapsed, std::int64_t own,
                                    instant deadline);

    struct due;
    struct looks;
    // True where it is to be asked again, for fewer keys at once than `used`.
    bool looks_at_fewer(const failure& why, std::size_t used);
    async<void> look_at_due(std::span<const held_lease> leases, std::vector<due>& all,
                            instant deadline);
    static async<void> look_at_batch(std::shared_ptr<etcd_store> self, std::shared_ptr<looks> todo,
                                     std::size_t batch);
    async<renewal> renew_slowly(const held_lease& lease, const due& seen, instant deadline);
    async<renewal> carry_on(const held_lease& lease, const due& seen, millis ttl, instant deadline);

    // The key of etcd whose end a waiter waits for; none when it has ended already.
    std::optional<std::string> held_at(const snapshot& seen, const std::string& key,
                                       fence_token holder) const;
    result<record> describe(std::string key, const snapshot& seen) const;
    struct lasting;
    async<void> add_remaining(std::vector<record>& shown, std::vector<std::int64_t> leases,
                              instant deadline);
    static async<void> ask_remaining(std::shared_ptr<etcd_store> self,
                                     std::shared_ptr<lasting> todo, std::size_t index);
    async<rules::token_range> issued_tokens(const epoch& in, instant deadline);
    const granted_lease* own(const std::string& key, fence_token token) const;
    void remember(const std::string& key, granted_lease what);
    failure unreadable(const std::string& key) const {
        return {errc::rejected, client_->present_place() + ": " + base::printable(key) +
                                    " is not pawl's: another program uses this name, choose "
                                    "namespace="};
    }
    failure contended() const {
        return {errc::unreachable, client_->present_place() + ": the key changes too often"};
    }
    static boost::asio::awaitable<bool> is_cancelled() {
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        co_return state.cancelled() != boost::asio::cancellation_type::none;
    }

    // Attempts until one has an answer: another client's change in between, or a lease that etcd
    // has dropped meanwhile, only means to look again.
    template <class T, class Attempt>
    async<T> in_rounds(instant deadline, Attempt attempt) {
        for (int round = 0; round < rounds_max; ++round) {
            auto trying = attempt();
            const auto answer = co_await std::move(trying);
            if (answer.has_error()) {
                if (is_lease_missing(answer.error())) continue;
                co_return answer.error();
            }
            if (answer->has_value()) co_return **answer;
            const auto cancelled = co_await is_cancelled();
            if (cancelled || lease_clock::now() >= deadline) break;
        }
        co_return contended();
    }

    // Constant after construction
    const std::shared_ptr<const etcd_settings> settings_;
    const key_names names_;
    const std::shared_ptr<client> client_;
    const std::shared_ptr<lease_stream> renewals_;
    const std::shared_ptr<watch_registry> watches_;
    const std::shared_ptr<lease_pool> leases_;
    const std::shared_ptr<epochs> epochs_;

    // On the loop only
    std::unordered_map<std::string, granted_lease> own_;
    std::size_t look_size_ = look_max;
    std::size_t remembered_ = 0;
    std::int64_t newest_revision_ = 0;
    fence_token newest_token_{};  // that was granted here
    etcd_lease withdrawn_lease_;
    instant withdrawn_until_{};
};

}  // namespace pawl::etcd
