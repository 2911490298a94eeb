// What all memory stores of one namespace share: the records, and who waits for them.
#pragma once

#include <pawl/spi/rules.hpp>

#include <pawl/spi/lease_store.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace pawl::memory {

// Thread-safe: every function is one atomic step. Waiters are rung from within the step, so `ring`
// must not block nor call back.
class data_set : public std::enable_shared_from_this<data_set> {
public:
    using clock = std::function<rules::store_time()>;
    static rules::store_time system_time();
    // Born at this moment of its clock.
    explicit data_set(clock time = system_time) : clock_{std::move(time)}, born_{clock_()} {}

    // The data set of a namespace; made at its first use.
    static std::shared_ptr<data_set> of(const std::string& name_space);

    // When nothing was in it yet.
    const rules::store_time& born() const noexcept { return born_; }
    rules::store_time now() const { return clock_(); }

    acquire_result<grant> acquire(const claim& wanted, millis max_skew, millis retention);
    bool withdraw(const withdrawal& given_up);
    renewal renew(const held_lease& lease);
    bool release(const std::string& key, fence_token token, const release_options& how);
    bool force_release(const std::string& key, fence_token token, millis delay);
    std::optional<record> inspect(const std::string& key);
    page list(const std::string& prefix, const std::string& after, std::size_t limit);
    fence_result fence(const std::string& resource, fence_token token, fence_rule rule,
                       const store_settings& settings);

    // Removes its waiter when it goes.
    class waiting {
    public:
        waiting(std::shared_ptr<data_set> from, std::string key, std::function<void()> ring);
        ~waiting();
        waiting(const waiting&) = delete;
        waiting& operator=(const waiting&) = delete;

    private:
        std::shared_ptr<data_set> from_;
        std::multimap<std::string, std::function<void()>>::iterator place_;
    };

    // Rings once for each release, forced release and withdrawal of the key; null if the key is not
    // held under `seen` any more.
    std::unique_ptr<waiting> wait(const std::string& key, fence_token seen,
                                  std::function<void()> ring);

private:
    // The callers of these hold mutex_.
    rules::lease_record* find(const std::string& key);
    void ring(const std::string& key);
    record describe(const std::string& key, const rules::lease_record& state,
                    const rules::store_time& now) const;
    void sweep(const rules::store_time& now, millis retention);

    // Constant after construction
    const clock clock_;
    const rules::store_time born_;

    mutable std::mutex mutex_;
    // Under mutex_
    std::map<std::string, rules::lease_record> leases_;
    std::map<std::string, fence_token> fences_;
    std::multimap<std::string, std::function<void()>> waiters_;
    fence_token purged_{};  // the highest token of all purged records: new keys start above it
    std::string sweep_from_;
    std::uint32_t grants_ = 0;
};

}  // namespace pawl::memory
