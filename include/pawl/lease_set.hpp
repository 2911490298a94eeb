// Several keys that are held together: all of them or none.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/lease.hpp>
#include <pawl/observer.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

namespace pawl {

// The most keys that one call can acquire together.
constexpr std::size_t lease_set_max = 64;

// A handle on the leases of several keys; locks::acquire_all() makes it. Released as a whole: when
// it goes out of scope, in the background and without waiting, or by release().
//
// One handle is used by one thread at a time, and may be moved between threads. valid(), token()
// and stop_token() may be called from any thread while none moves or releases the handle. A handle
// that was moved from or released is empty: it has no leases, is not valid, and its stop token has
// fired; valid_until() is instant::min(), lost() is nothing, renew() is false, and token() throws
// std::out_of_range. mark_not_started() and release() throw std::logic_error on it. In the child of
// a fork() the handle is dead, as a lease is: renew() is false, and release() is `lost`.
class [[nodiscard]] lease_set {
public:
    // For pawl itself. Without leases the handle is empty. REQUIRES: in byte order of their keys,
    // and none of them empty.
    explicit lease_set(std::vector<lease> held);

    ~lease_set();
    lease_set(lease_set&&) noexcept;
    lease_set& operator=(lease_set&&) noexcept;

    // How many keys it holds.
    [[nodiscard]] std::size_t size() const noexcept;

    // The leases, in byte order of their keys. Not of a temporary, which ends with the expression:
    // give it a name first.
    [[nodiscard]] const std::vector<lease>& leases() const&;
    const std::vector<lease>& leases() const&& = delete;

    // The token of one key: send it with every write to what this key protects. Throws
    // std::out_of_range for a key that is not among them.
    [[nodiscard]] fence_token token(std::string_view key) const;

    // Whether all leases are valid. False as soon as one of the keys may have another holder.
    [[nodiscard]] bool valid() const;

    // When the first of the leases stops being valid, unless it is renewed before that.
    [[nodiscard]] instant valid_until() const;

    // Requested as soon as the stop token of one of the leases is. Its callbacks run on pawl's loop
    // and must not block.
    [[nodiscard]] std::stop_token stop_token() const;

    // Why one of the leases was lost; nothing: none was.
    [[nodiscard]] std::optional<loss_reason> lost() const;

    // Renews all leases now; made for renewal_mode::manual. True: all keys are still ours. False:
    // one of the leases is lost, or the store did not answer for it. Blocks and throws as
    // lease::renew() does, for one operation, however many keys there are.
    [[nodiscard]] bool renew();

    // The work was never started: see lease::mark_not_started().
    void mark_not_started();

    // Releases all keys, and waits for the store's answers. Answers with the worst of them: `lost`
    // before `unknown` before `still_shared` before `released`. The handle is empty afterwards.
    // Throws nothing for a store's failure, and std::logic_error on pawl's own loop. Blocks for one
    // release, however many keys there are.
    release_outcome release();

    // Whether the handle is not empty. It says nothing about the leases; see valid().
    explicit operator bool() const noexcept { return size() > 0; }

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace pawl
