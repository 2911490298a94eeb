// A key that is held: move-only, released when it goes out of scope.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/completion.hpp>
#include <pawl/errors.hpp>
#include <pawl/observer.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace pawl {

namespace runtime {
class lease_state;
}

// What a release came to.
enum class release_outcome {
    released,     // the lease was ours until now, and the store knows that it ended
    lost,         // it had been lost before
    unknown,      // the store did not answer: the key becomes free when the TTL has passed
    still_shared  // other handles exist (lease::share()): the key stays held until the last one
                  // goes
};

// A handle on a lease; locks makes them. The lease ends with its last handle. A handle may outlive
// its `locks`: then the lease is lost (loss_reason::closed), the stop token fires, and the key
// becomes free when the TTL has passed.
//
// One handle is used by one thread at a time, and may be moved between threads. valid(), token()
// and stop_token() may be called from any thread while none moves or releases the handle. Calls
// that block must not be made on pawl's loop: in an observer, a stop callback or a deadline watch.
//
// A handle that was moved from or released is empty. An empty handle is not valid: valid() and
// renew() are false, valid_until() is instant::min(), stop_token() has fired, lost() is nothing.
// All else throws std::logic_error on it.
//
// In the child of a fork() every handle is dead: not valid, with loss_reason::closed. The parent's
// lease is not touched: a handle that is destroyed in the child releases nothing.
class [[nodiscard]] lease {
public:
    // For pawl itself.
    explicit lease(std::shared_ptr<runtime::lease_state> held);

    // Releases in the background, as release() does. Never throws, and never waits for the store.
    ~lease();
    lease(lease&&) noexcept = default;
    // Releases what this handle had, in the background.
    lease& operator=(lease&& other) noexcept;

    // Not of a temporary, whose text ends with the expression; nor owner().
    [[nodiscard]] const std::string& key() const&;
    const std::string& key() const&& = delete;

    // The name under which the key is held: open_options::owner.
    [[nodiscard]] const std::string& owner() const&;
    const std::string& owner() const&& = delete;

    // Send it with every write that must not happen late; see <pawl/fence.hpp>.
    [[nodiscard]] fence_token token() const;

    // Whether the lease is valid. False as soon as another holder is possible, and then for good.
    // True is a promise for valid_until() - now and no longer. So a write that must not be late
    // carries the token. Asks the clock, not the store.
    [[nodiscard]] bool valid() const;

    // When it stops being valid unless it is renewed; of one that was lost, when it would have.
    [[nodiscard]] instant valid_until() const;

    // Requested when the lease is lost, and `grace` before it stops being valid: stop then. Its
    // callbacks run on pawl's loop and must not block.
    [[nodiscard]] std::stop_token stop_token() const;

    // Why the lease was lost; nothing: it was not.
    [[nodiscard]] std::optional<loss_reason> lost() const;

    // Another handle on this lease, with the same token; also on one that was lost. The last handle
    // releases it. Throws std::logic_error in the child of a fork.
    [[nodiscard]] lease share() const;

    // Renews the lease now; made for renewal_mode::manual. True: the key is still ours. False: the
    // lease is lost, or the store did not answer. Blocks for one operation, at most the store's
    // timeout. Throws std::logic_error on pawl's own loop, and where it does not run (see
    // open_options::executor), and nothing else.
    [[nodiscard]] bool renew();
    // The same for Asio programs. Await it on any executor.
    [[nodiscard]] boost::asio::awaitable<bool> async_renew();
    // With a completion token: see <pawl/completion.hpp>.
    template <completion_token<bool> Token>
    [[nodiscard]] auto async_renew(Token&& token) {
        return detail::complete(async_renew(), std::forward<Token>(token));
    }

    // The work of an at-least-once occurrence is done: the release tells the store so. Without an
    // occurrence it changes nothing. From any thread, as mark_not_started().
    void mark_done();

    // The work was never started. The release gives the occurrence back as well, so that another
    // node may run it. It leaves no cooldown, whatever `min_hold` and `hold_until_expiry` say. It
    // counts also after mark_done().
    void mark_not_started();

    // Told on pawl's loop, once at first and whenever the lease was renewed: when the job should
    // stop, and when it must be dead; when the lease is lost, both are now. Of a lease that is lost
    // already it is told before this returns, on the calling thread. For guards outside this
    // process. It must not block; what it throws ends the process.
    // A new watch replaces the one before. An empty one ends it, and so does the end of the last
    // handle. Both wait for a call that is under way on another thread, as the destructor of a
    // std::stop_callback does: none comes after them. Does nothing in the child of a fork.
    using deadline_watch = std::function<void(instant stop_at, instant valid_until)>;
    void watch_deadline(deadline_watch watch);

    // Ends the lease as its options say (`min_hold`, `hold_until_expiry`), and waits for the
    // store's answer with one retry. The handle is empty afterwards. While other handles exist, the
    // lease continues, and the answer is `still_shared`. Throws nothing for a store's failure: the
    // TTL ends the lease then. Throws std::logic_error on pawl's own loop, and where it does not
    // run (see open_options::executor); the lease is released in the background then.
    release_outcome release();
    // The same for Asio programs. Await it on any executor. The handle is empty at once; where the
    // result is not awaited, the lease is released in the background.
    [[nodiscard]] boost::asio::awaitable<release_outcome> async_release();
    // With a completion token: see <pawl/completion.hpp>.
    template <completion_token<release_outcome> Token>
    auto async_release(Token&& token) {
        return detail::complete(async_release(), std::forward<Token>(token));
    }

    // Whether the handle is not empty. It says nothing about the lease; see valid().
    explicit operator bool() const noexcept { return held_ != nullptr; }

private:
    friend class lease_set;
    runtime::lease_state& state() const;
    void let_go() noexcept;

    std::shared_ptr<runtime::lease_state> held_;
};

}  // namespace pawl
