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
class holding;
}

enum class release_outcome {
    released,  // it was ours until now, and the store knows that it ended
    lost,      // it had already been lost
    unknown    // the store did not answer: the key becomes free when its TTL has passed
};

// A handle may be moved between threads; one handle is used by one thread at a time. trusted(),
// token() and stop_token() may be called from any thread.
class lease {
public:
    explicit lease(std::shared_ptr<runtime::holding> held);
    // Releases in the background. Never throws, never waits.
    ~lease();
    lease(lease&&) noexcept = default;
    lease& operator=(lease&& other) noexcept;

    const std::string& key() const;
    const std::string& owner() const;
    // Send it with every write that must not happen late; see <pawl/fence.hpp>.
    fence_token token() const;

    // False as soon as another holder is possible. True is a promise for trusted_until() - now, and
    // no longer: a write that must not be late carries the token.
    bool trusted() const;
    instant trusted_until() const;
    // Requested when the lease is lost, and `grace` before trust in it would end: stop then. Its
    // callbacks run on pawl's loop and must not block.
    std::stop_token stop_token() const;
    std::optional<loss_reason> lost() const;

    // Another handle on this lease, with the same token: reentrancy for whoever is given it. The
    // last handle releases it.
    lease share() const;

    // For renewing::manual. True if the key is still ours. Blocks for one round trip.
    bool renew();
    boost::asio::awaitable<bool> async_renew();

    // The work of an at-least-once occurrence is done: the release will say so.
    void mark_done();
    // The work was never started: the release gives the occurrence back as well, so that another
    // node may run it. It keeps nothing held, whatever `at_least` and `hold` say.
    void mark_not_started();

    // Called on pawl's loop at once, and whenever trust is extended: when the job should stop and
    // when it must be dead. For guards outside this process.
    using deadline_watch = std::function<void(instant stop_at, instant trust_end)>;
    void watch_deadline(deadline_watch watch);

    // Ends the lease as its options say (at_least, hold) and waits for the store's answer, with one
    // retry. The handle is empty afterwards. Never throws for a store's failure: the TTL does it
    // then.
    release_outcome release();
    boost::asio::awaitable<release_outcome> async_release();

    explicit operator bool() const { return held_ != nullptr; }

private:
    void let_go() noexcept;

    std::shared_ptr<runtime::holding> held_;
};

}  // namespace pawl
