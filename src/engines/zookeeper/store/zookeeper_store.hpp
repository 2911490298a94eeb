// The verbs of the store over the tree: look, decide by the rules, write with a version check.
//
// Every grant writes the record of its key and makes the lease below it in one transaction, so the
// record's version guards all: who decided on an older one is rejected and looks again. It is also
// why a withdrawn claim is dead though it may arrive late: a withdrawal writes the record.
//
// Versions begin at 0 again where a record is deleted and made anew. So each has a child of a name
// that no other has, its origin, which is checked beside the version.
#pragma once

#include "engines/zookeeper/store/ensemble.hpp"
#include "engines/zookeeper/store/expiry_schedule.hpp"

#include <pawl/spi/rules.hpp>

#include "base/identity.hpp"

#include <pawl/spi/lease_store.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::zookeeper {

class zookeeper_store : public lease_store, public std::enable_shared_from_this<zookeeper_store> {
public:
    zookeeper_store(net::loop& where, zookeeper_settings settings);
    ~zookeeper_store() override;

    // A record's version guards its token, and the leader's clock is above all tokens that an
    // ensemble can forget.
    store_traits traits() const noexcept override {
        return {.strict_fencing = true, .notifies = true, .atomic_batch = false};
    }

#include "engines/rules/store/verbs.inc"
    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override;

private:
    using session_ptr = std::shared_ptr<session>;
    // Of one attempt: the answer, or nothing when another client was faster and it begins again.
    // Never const where it is handed on: a constant result<optional<bool>> converts to true.
    template <class T>
    using attempt = async<std::optional<T>>;

    instant deadline() const { return lease_clock::now() + settings_->common.timeout; }
    // How many keys are remembered or watched.
    static constexpr std::size_t remembered_max = 4096;
    // For how long: no record is purged meanwhile, and later others have had the key.
    millis remembered_for() const {
        return std::min<millis>(settings_->common.retention / 4, std::chrono::seconds{10});
    }
    failure too_slow(std::string_view what) const;

    // store_claims.cpp
    async<view> view_for_claim(session& through, const claim& wanted, int attempts, instant until);
    attempt<acquire_result<grant>> try_claim(const session_ptr& where, const claim& wanted,
                                             view seen, instant until);
    attempt<acquire_result<grant>> grant_new(const session_ptr& where, const claim& wanted,
                                             const view& seen, const lease_record& next,
                                             instant until);
    // The step that makes the node of a lease. Where it surely has not, the lease's end is
    // cancelled.
    async<answer> make_lease(const session_ptr& where, std::vector<operation> steps,
                             std::shared_ptr<lease_end> end, instant until);
    bool is_overdue(const std::string& key, const view& seen);
    millis rest_of_watch(const std::string& key, const view& seen) const;
    // Ties a transaction to the record that was seen. REQUIRES: it writes that record.
    std::string tie_to(std::vector<operation>& steps, const std::string& record, const view& seen);
    void start_sweep(const session_ptr& where);
    static boost::asio::awaitable<void> sweep(std::shared_ptr<zookeeper_store> self,
                                              session_ptr where);
    async<bool> sweep_some(session& through, instant until);
    async<bool> list_to_sweep(session& through, instant until);
    std::optional<request> sweeping_of(const std::string& path,
                                       const std::vector<std::string>& children,
                                       const answer& record) const;

    // store_leases.cpp
    struct renewing;
    std::optional<renewing> renewing_of(std::size_t place, const held_lease& lease);
    bool may_be_found(const held_lease& lease);
    async<std::vector<std::size_t>> renew_held(session_ptr where,
                                               std::vector<std::vector<renewing>> batches,
                                               std::vector<renewal>& answers, instant until);
    async<std::vector<std::size_t>> drop_changed(session_ptr where, std::vector<renewing>& batch,
                                                 instant until);
    async<renewal> renew_found(held_lease lease, instant until);
    struct searched;
    static async<void> renew_searched(std::shared_ptr<zookeeper_store> self,
                                      std::shared_ptr<searched> all, std::size_t index);
    attempt<bool> keep(const std::string& key, const view& seen, millis ttl, instant until);
    attempt<bool> keep_in_place(const session_ptr& where, const std::string& key, const view& seen,
                                millis ttl, instant until);
    attempt<bool> move_lease(const session_ptr& where, const std::string& key, const view& seen,
                             millis ttl, instant until);
    attempt<bool> release_held(const std::string& key, fence_token token,
                               const release_options& how, instant until);

    struct effect {
        bool changed = false;
        bool answer = false;
    };
    using decision = std::function<effect(rules::lease_record&, const rules::store_time&)>;
    enum class clock_need { estimate, exact };
    enum class absence { nothing, tombstone };
    async<bool> change(std::string key, clock_need need, absence if_absent, const decision& decide);
    attempt<bool> try_change(session& through, const std::string& key, clock_need need,
                             absence if_absent, const decision& decide, instant until);
    attempt<bool> leave_tombstone(session& through, const std::string& key, instant until);

    // store_views.cpp
    async<std::vector<std::string>> keys_of(session& through, const std::string& prefix,
                                            const std::string& after, instant until);
    async<std::vector<record>> records_of(session& through, std::vector<std::string> keys,
                                          instant until);
    async<rules::token_range> issued_tokens(session& through, instant until);
    std::optional<record> describe(const std::string& key, const view& seen,
                                   std::int64_t now) const;

    // The lease is gone for us although its znode is still there.
    void forget_what_is_over(const std::string& key, view& seen) const;
    rules::lease_record state_of(const view& seen, std::int64_t now) const;
    std::int64_t now_for(const view& seen) const;
    std::string fresh_lease_name();
    std::string fresh_origin_name();

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<const zookeeper_settings> settings_;
    const std::unique_ptr<ensemble> tree_;
    const std::shared_ptr<expiry_schedule> expiries_;

    // On the loop only
    base::id_source ids_;
    // Records of keys that we let go last: the next claim need not read them.
    struct remembered {
        view seen;
        std::uint64_t generation;
        instant since;
    };
    std::unordered_map<std::string, remembered> remembered_;
    // Leases of others that we were rejected for, and since when they have not been renewed.
    struct watched {
        std::int64_t zxid;
        instant since;
    };
    std::unordered_map<std::string, watched> watched_;
    std::deque<std::string> to_sweep_;           // paths of records
    std::vector<std::string> buckets_to_sweep_;  // paths
    instant next_sweep_{};
    bool sweeping_ = false;
};

}  // namespace pawl::zookeeper
