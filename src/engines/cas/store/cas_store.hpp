// The store itself: what its verbs share. They are defined in claims.cpp, renewals.cpp, endings.cpp
// and views.cpp.
#pragma once

#include "engines/cas/store/lease_rules.hpp"
#include "engines/cas/store/make_cas_store.hpp"
#include "engines/cas/store/name_space.hpp"
#include "engines/cas/store/versioned_records.hpp"
#include "net/nonthrowing_store.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pawl::cas {

class cas_store : public net::nonthrowing_store, public std::enable_shared_from_this<cas_store> {
public:
    cas_store(net::loop& where, cas_settings settings, std::shared_ptr<medium> on);

    store_traits traits() const noexcept override;

private:
    async<acquire_result<grant>> do_acquire(claim wanted) override;
    async<bool> do_withdraw(withdrawal given_up) override;
    async<std::vector<renewal>> do_renew(std::span<const held_lease> leases) override;
    async<bool> do_release(std::string key, fence_token token, release_options how) override;
    async<bool> do_force_release(std::string key, fence_token token, millis delay) override;
    async<std::optional<record>> do_inspect(std::string key) override;
    async<page> do_list(std::string prefix, std::string after, std::size_t limit) override;
    async<void> do_wait(std::string key, fence_token seen) override;
    async<fence_result> do_fence(std::string resource, fence_token token, fence_rule rule) override;
    async<examination> do_examine() override;

    instant deadline() const { return records_->now() + settings_.common.timeout; }
    // What the medium can keep: not shorter than it takes, and a multiple of its step.
    millis rounded(millis ttl) const;
    result<lease_rules> read_lease(const std::string& key, const seen& stands) const;
    fence_token last_token(const seen& stands) const;
    std::optional<seen> known(const std::string& key) const;

    // What a verb makes of a lease: its answer, and whether the record is to be written.
    using lease_step = std::function<rules::end_effect(lease_rules&, const clock_bounds&)>;
    // Opens the namespace where the verb has no deadline yet.
    async<bool> amend_lease(std::string key, std::optional<seen> known, lease_step step,
                            std::optional<instant> until = {});

    // How long ago this process was granted the key under this token, at least; 0 if it was not.
    instant::duration age_of(const std::string& key, fence_token token) const;
    // What the store's clock has to be behind for a claim; nothing: no quarantine.
    std::optional<micros> quarantine_end() const;
    async<acquire_result<grant>> acquire_once(const claim& wanted, instant until);
    result<decision<acquire_result<grant>>> decide(const claim& wanted, const seen& stands,
                                                   const clock_bounds& now, bool is_trusted,
                                                   std::string nonce);

    struct beat;
    // Steps of do_renew(), which keeps the store.
    async<void> renew_batch(std::shared_ptr<beat> all, std::size_t batch);
    async<void> renew_alone(std::shared_ptr<beat> all, std::size_t which);
    void plan(const held_lease& lease, std::size_t index, beat& into);

    void purge_now_and_then(const std::string& after);
    static boost::asio::awaitable<void> purge(std::shared_ptr<cas_store> self, std::string after);
    async<std::size_t> purge_page(std::string after, std::size_t limit, instant until);

    // Constant after construction
    const cas_settings settings_;
    const std::shared_ptr<versioned_records> records_;
    const std::shared_ptr<name_space> space_;

    // On the loop only
    bool purging_ = false;
    instant purge_next_{};
};

}  // namespace pawl::cas
