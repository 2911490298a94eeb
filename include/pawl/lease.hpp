// A key that is held: move-only, released when it goes out of scope.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/observer.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl {

namespace runtime {
class lease_state;
}

// What a release came to.
enum class release_outcome {
    released,  // the lease was ours until now, and the store knows that it ended
    lost,      // it had been lost before
    unknown    // the store did not answer: the key becomes free when the TTL has passed
};

// A handle on a lease; locks makes them. The lease ends with its last handle. A handle may outlive
// its `locks`, and then ends by its TTL.
//
// One handle is used by one thread at a time, and may be moved between threads. trusted(), token()
// and stop_token() may be called from any thread. Calls that block must not be made from pawl's own
// loop: not from an observer, a stop callback or a deadline watch.
//
// A handle that was moved from or released is empty. REQUIRES: only destruction, assignment and
// operator bool are used on an empty handle.
class lease {
public:
    // For pawl itself.
    explicit lease(std::shared_ptr<runtime::lease_state> held);

    // Releases in the background, as release() does. Never throws, never waits.
    ~lease();
    lease(lease&&) noexcept = default;
    lease& operator=(lease&& other) noexcept;

    const std::string& key() const;

    // The name under which the key is held: open_options::owner.
    const std::string& owner() const;

    // Send it with every write that must not happen late; see <pawl/fence.hpp>.
    fence_token token() const;

    // Whether the lease is valid. False as soon as another holder is possible, and then for good.
    // True is a promise for trusted_until() - now and no longer. So a write that must not be late
    // carries the token. Asks the clock, not the store.
    bool trusted() const;

    // When the lease stops being valid, unless it is renewed before that.
    instant trusted_until() const;

    // Requested when the lease is lost, and `grace` before it stops being valid: stop then. Its
    // callbacks run on pawl's loop and must not block.
    std::stop_token stop_token() const;

    // Why the lease was lost; nothing: it was not.
    std::optional<loss_reason> lost() const;

    // Another handle on this lease, with the same token. The last handle releases it.
    lease share() const;

    // Renews the lease now; made for renewal_mode::manual. True: the key is still ours. False: the
    // lease is lost, or the store did not answer. Throws nothing. Blocks for one operation, at most
    // the store's timeout.
    bool renew();
    // The same for Asio programs. Await it on any executor.
    boost::asio::awaitable<bool> async_renew();

    // The work of an at-least-once occurrence is done: the release tells the store so.
    void mark_done();

    // The work was never started. The release gives the occurrence back as well, so that another
    // node may run it. It leaves no cooldown, whatever `at_least` and `hold` say.
    void mark_not_started();

    // Told on pawl's loop, once at first and whenever the lease was renewed: when the job should
    // stop, and when it must be dead. For guards outside this process. It must not block or throw.
    // A lease has one watch, and a new one replaces it. Blocks for nothing.
    using deadline_watch = std::function<void(instant stop_at, instant trust_end)>;
    void watch_deadline(deadline_watch watch);

    // Ends the lease as its options say (`at_least`, `hold`), and waits for the store's answer with
    // one retry. The handle is empty afterwards. While other handles exist, the lease goes on, and
    // the answer is `released`. Throws nothing for a store's failure: the TTL ends the lease then.
    release_outcome release();
    // The same for Asio programs. Await it on any executor.
    boost::asio::awaitable<release_outcome> async_release();

    // Whether the handle is not empty. It says nothing about the lease; see trusted().
    explicit operator bool() const { return held_ != nullptr; }

private:
    void let_go() noexcept;

    std::shared_ptr<runtime::lease_state> held_;
};

}  // namespace pawl
