// The store's class, whose verbs stand in a file for each part of a lease's life.
#pragma once

#include "base/number.hpp"
#include "engines/redis/client/servers.hpp"
#include "engines/redis/client/slots.hpp"
#include "engines/redis/store/index_sweep.hpp"
#include "engines/redis/store/make_redis_store.hpp"
#include "engines/rules/store/retention.hpp"

#include <pawl/spi/lease_store.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::redis {

inline fence_token token_of(const reply& value) {
    return fence_token{static_cast<std::uint64_t>(value.number)};
}

// As it stands in a record: 16 digits, which hold every token below 2^53.
inline std::string digits_of(fence_token token) { return base::padded(number(token), 16); }

// As it stands in the record of a key that it holds. None holds one in cooldown, where 0 stands.
inline std::string holder_digits(fence_token token) {
    return number(token) == 0 ? "-" : digits_of(token);
}

// What a namespace, or a shard of one, calls its keys.
struct names {
    explicit names(const std::string& space)
        : lock{space + ":lock:"},
          fence{space + ":fence:"},
          channel{space + ":changed:"},
          index{space + ":locks"},
          marker{space + ":marker"},
          history{space + ":history"} {}

    std::string lock, fence, channel;  // each to be followed by a key
    std::string index, marker, history;
};

std::vector<names> names_for(const redis_settings& settings);

class redis_store : public lease_store, public std::enable_shared_from_this<redis_store> {
public:
    redis_store(net::loop& where, redis_settings settings)
        : settings_{std::make_shared<const redis_settings>(std::move(settings))},
          names_{names_for(*settings_)},
          retention_{rules::kept_for(settings_->common.retention).count()},
          servers_{servers::make(where, settings_)},
          executor_{where.get_executor()},
          met_(names_.size(), false),
          sweeps_{std::make_shared<std::vector<index_sweep>>(names_.size())} {}

    ~redis_store() override { servers_->close_from_anywhere(); }

    store_traits traits() const noexcept override {
        return {.strict_fencing = settings_->common.quarantine.has_value(),
                .notifies = true,
                .atomic_batch = !servers_->is_cluster()};
    }

#include "engines/rules/store/verbs.inc"
    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override;

private:
    // A key, and where it is.
    struct spot {
        const names& in;
        std::size_t shard;
    };
    spot spot_of(std::string_view key) const {
        const auto shard = servers_->is_cluster() ? shard_of_key(key) : 0;
        return {names_[shard], shard};
    }

    async<void> hear_change(std::string key, fence_token seen);
    async<bool> run_for_flag(const script_call& call, std::size_t shard);
    script_call acquire_call(const claim& wanted, const spot& at) const;
    script_call acquire_alone(const claim& wanted, const spot& at) const;
    void add_claim(script_call& call, const claim& wanted, std::size_t shard) const;
    script_call fence_call(const std::string& resource, fence_token token, fence_rule rule) const;
    result<acquire_result<grant>> read_result(const claim& wanted, const reply& got);
    void sweep_behind(const claim& granted);
    boost::asio::awaitable<void> mark_shards();
    async<acquire_result<grant>> acquire_listed(claim wanted);
    async<acquire_result<grant>> acquire_with_care(claim wanted);
    async<acquire_result<grant>> give_back(claim wanted, failure why);

    script_call renew_call(const names& in, const std::vector<const held_lease*>& leases) const;
    async<bool> renew_batch(std::span<const held_lease> leases, std::vector<renewal>& answers);
    async<std::vector<renewal>> renew_sharded(std::span<const held_lease> leases);
    std::optional<failure> take_renewals(answer& got, const std::vector<std::size_t>& which,
                                         std::vector<renewal>& answers) const;

    result<page> read_page(const reply& got) const;
    async<page> list_alone(std::string prefix, std::string after, std::size_t limit);
    async<page> list_sharded(std::string prefix, std::string after, std::size_t limit);

    async<std::optional<record>> look(std::string key);
    boost::asio::awaitable<void> count_waiters(std::vector<record>& records);

    failure unexpected(std::string_view what) const {
        return {errc::protocol, servers_->place() +
                                    " does not speak RESP: an unexpected answer to " +
                                    std::string{what}};
    }

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    const std::vector<names> names_;  // of each shard; one unless in a cluster
    const std::int64_t retention_;
    const std::shared_ptr<servers> servers_;
    const net::loop::executor_type executor_;

    // On the loop only
    std::vector<bool> met_;  // the shards whose data this client has met, under a quarantine
    bool marked_ = false;    // every shard of the cluster has been given its marker
    // Of each shard; shared with the sweep that is under way.
    const std::shared_ptr<std::vector<index_sweep>> sweeps_;
    instant whole_from_{};  // until then the cluster is quarantined as a whole
    std::string scratch_;   // the command being encoded; copied before anybody else encodes
};

}  // namespace pawl::redis
