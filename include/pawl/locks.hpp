// The way in: opens a store, acquires keys, keeps what is held alive.
//
//     pawl::locks locks = pawl::locks::open("redis://127.0.0.1:6379");
//     if (auto lease = locks.try_acquire("invoices/nightly", {.ttl = 30s}))
//         charge(lease->token());
#pragma once

#include <pawl/acquired.hpp>
#include <pawl/completion.hpp>
#include <pawl/connections.hpp>
#include <pawl/errors.hpp>
#include <pawl/examination.hpp>
#include <pawl/fence.hpp>
#include <pawl/job.hpp>
#include <pawl/leader.hpp>
#include <pawl/lease.hpp>
#include <pawl/lease_set.hpp>
#include <pawl/options.hpp>
#include <pawl/partition.hpp>
#include <pawl/results.hpp>
#include <pawl/slot.hpp>
#include <pawl/store.hpp>
#include <pawl/temporary.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

// Complete in <pawl/spi/journal.hpp> and <pawl/spi/lease_store.hpp>.
class journal;
class lease_store;
namespace net {
class loop;
}
namespace runtime {
class core;
}

// How a program opens `locks`. Each member has a default.
struct open_options {
    // Who holds what this object acquires, for people to read. At most 256 bytes of UTF-8 without
    // control characters; USER@... would be that HTTP user's. Empty: HOST:PID:START:NONCE.
    std::string owner{};

    // Told what happens to leases. Shared: pawl keeps it alive for as long as it may call it.
    // Default: null, none.
    std::shared_ptr<pawl::observer> observer{};

    // Where runs are recorded: the URL of a store whose engine keeps a journal, or "none".
    // Default: empty, the store itself if its engine keeps a journal, else none. A malformed URL,
    // or that of an engine without a journal, is an option_error.
    std::string journal{};

    // Connections of the application's own, for the store and for the journal. Default: none, pawl
    // connects by what the URL says.
    connection_factories connections{};

    // The executor of your own boost::asio::io_context, in which pawl works then. It starts no
    // thread of its own but for what blocks by nature: SQLite's file, bodies, and functions in
    // `connections`. Default: empty, a thread of pawl's.
    //
    // One thread at a time may run that context. Pawl's own loop is that thread: observers, stop
    // callbacks and deadline watches are called on it, and calls that block throw std::logic_error
    // there. They wait for it on any other thread, and throw std::logic_error where it was stopped
    // or has not begun to run after 10 s. No lease is renewed while the context does not run.
    // run() does not return while the `locks` is open. The destructor waits for nothing: await
    // locks::async_close() for an end in order. A context that ends first closes the `locks`. In
    // the child of a fork() neither may be used; notify_fork() throws std::logic_error before it.
    //
    // An executor of another kind, such as a strand or a thread_pool's, is an option_error.
    boost::asio::any_io_executor executor{};
};

// Leases at one store. One object serves a whole process. It keeps one connection and renews all
// its leases in one request. N threads that wait for one key cost the store one waiter.
//
// Thread-safe. Calls block for as long as the store takes, at most its timeout for each request,
// unless they say otherwise; one that claims a key that this object is releasing waits for that
// first. They must not be made from pawl's own loop: not from an observer, a
// stop callback or a coroutine on get_executor(); they throw std::logic_error there.
//
// Every call that takes a key throws option_error unless the key has 1 to 512 bytes of UTF-8
// without control characters. Every call that asks the store throws store_error if the store
// failed. The `async_` calls throw the same, when they are awaited.
//
// Every call throws std::logic_error on a moved-from object, which can only be destroyed or
// assigned to, and in the child of a fork(): open a new object there (not of an SQLite file that
// the parent has open, nor of etcd where the parent has used it). The child's copy touches no
// connection of the parent, nor does its end.
class locks {
public:
    // Opens the store that the URL names; the page "Stores" of the documentation lists the URLs.
    // Throws option_error for a malformed URL, an unknown engine, an owner out of its bounds, an
    // engine without a journal where `options.journal` names it, and a URL that does not go with
    // `options.connections`. Throws store_error if the store cannot be opened. The first
    // operation contacts a server, not this call.
    [[nodiscard]] static locks open(std::string_view url, open_options options = {});

    // Opens a store of your own, which keeps no journal. `make` is called once, on this thread and
    // with the executor to run on, and what it throws is thrown on. `settings` are not checked: see
    // store_settings for their bounds. Throws option_error if `make` returns null, if
    // `options.journal` names one, and for `options.connections`.
    using store_factory = std::function<std::shared_ptr<lease_store>(boost::asio::any_io_executor)>;
    [[nodiscard]] static locks open(const store_factory& make, store_settings settings,
                                    open_options options = {});

    // For pawl itself.
    explicit locks(std::unique_ptr<runtime::core> core);

    // Ends what is under way. Bodies are told to stop, and the destructor waits until they have
    // returned. Acquires that wait, in other threads and in coroutines, end with errc::closed.
    // Leases that are still held are lost (loss_reason::closed): their stop tokens fire, and their
    // keys become free when the TTL has passed. Waits up to 200 ms for releases that have begun,
    // and for the store's answer to a call that blocks in another thread.
    // With open_options::executor it waits for nothing, and all that follows in its context; only
    // where that context is being destroyed on another thread, it waits until `locks` is closed.
    // REQUIRES: not on pawl's own loop, unless open_options::executor has it.
    ~locks();

    // Ends all as the destructor does, without blocking a thread. From the moment that it is
    // awaited the object can only be destroyed or assigned to, and it must be there until then.
    // Throws std::logic_error on a moved-from object, and on pawl's own executor, get_executor(),
    // which ends with it.
    [[nodiscard]] boost::asio::awaitable<void> async_close();

    locks(locks&&) noexcept;
    // Ends what this object had, as the destructor does, and blocks as long.
    locks& operator=(locks&& other) noexcept;

    // Claims the key once. Nothing if another process holds it, or the occurrence is done. A lease
    // on the key whose release this object has begun is waited for, at most for twice the store's
    // timeout. Throws option_error for options that validate() rejects.
    [[nodiscard]] acquired<lease> try_acquire(std::string_view key, const lease_options& options);

    // Waits for the key, at most for `wait`, or until `stop` is requested; nothing if it was busy
    // until then. A store that cannot be reached is asked for no longer than `wait` either, but for
    // the timeout of the first request. Throws as try_acquire() does, and option_error for a
    // negative `wait`.
    [[nodiscard]] acquired<lease> acquire(std::string_view key, const lease_options& options,
                                          millis wait, std::stop_token stop = {});

    // The same with the reason why there is no lease. Throws as try_acquire() does, and
    // option_error for negative fields of `how_long`. `busy` also where `stop` ended the wait.
    [[nodiscard]] acquire_result<lease> acquire_with_reason(std::string_view key,
                                                            const lease_options& options,
                                                            wait_policy how_long = {},
                                                            std::stop_token stop = {});

    // Claims the job's key, runs its body on this thread while the lease is renewed, releases, and
    // says how it ended. Where there is a journal, the run is recorded. A journal that is down
    // delays the begin and the end of a run by 2 s each at most, and prevents no run. An occurrence
    // that the journal knows as over is skipped_done.
    // What the body throws is thrown on, after the release. Throws as acquire_with_reason() does,
    // and option_error for a job without a body.
    run_outcome run(const job& what, std::stop_token stop = {});

    // Leads whenever this process is elected, until `stop` is requested. Waits for the key, runs
    // the body on this thread while the key is held, releases, and begins anew. Returns how many
    // terms it led.
    // A body that returns by itself gives leadership up. A renewal interval passes before the key
    // is claimed again, so that others get a chance. A body that was told to stop is waited for.
    // What a body throws is thrown on, after the release.
    // A store that fails is asked again with backoff, without end. Throws store_error only if the
    // store rejects the first requests for good (denied, protocol, unsupported). `on_store_down`
    // changes nothing here. Throws option_error for options that validate() or leadership_fault()
    // rejects, and for an empty body.
    std::uint64_t lead(std::string_view key, const lease_options& options, std::stop_token stop,
                       const term_body& body);

    // Runs a fair share of the partitions NAME/0 to NAME/(count-1), each on a thread of its own.
    // The others run in the processes that call this with the same name and count. Returns when
    // `stop` was requested and all bodies have returned. A body that returns by itself is called
    // again after a renewal interval, here or in another process. When one throws, the other bodies
    // of this call are told to stop. The exception is thrown on when everything has been released.
    // Fails as lead() does. Throws option_error also for what partition_fault() rejects, and for a
    // name that leaves no room for what follows it in its keys.
    void run_partitions(std::string_view name, std::uint32_t count, std::stop_token stop,
                        const partition_body& body, const partition_options& options = {});

    // The same for Asio programs. Await them on any executor. Arguments are copied before the call
    // returns. A job or a body is no owning_temporary: give it a name first.
    // A call can be left by Asio's cancellation, or because its context ends. It leaves nothing
    // behind: a claim is withdrawn, its occurrence given back. The claiming calls end at once with
    // operation_aborted. async_run, async_lead and async_run_partitions tell their bodies to stop
    // and end when these have returned. That holds where the coroutine is destroyed too, as bodies
    // may use what the program owns. Where they need a thread and there is none, they throw
    // std::system_error.
    [[nodiscard]] boost::asio::awaitable<acquired<lease>> async_try_acquire(std::string_view key,
                                                                            lease_options options);
    [[nodiscard]] boost::asio::awaitable<acquired<lease>> async_acquire(std::string_view key,
                                                                        lease_options options,
                                                                        millis wait,
                                                                        std::stop_token stop = {});
    [[nodiscard]] boost::asio::awaitable<acquire_result<lease>> async_acquire_with_reason(
        std::string_view key, lease_options options, wait_policy how_long = {},
        std::stop_token stop = {});
    // The body runs on a thread of its own.
    [[nodiscard]] boost::asio::awaitable<run_outcome> async_run(const job& what,
                                                                std::stop_token stop = {});
    boost::asio::awaitable<run_outcome> async_run(const job&& what,
                                                  std::stop_token stop = {}) = delete;
    // Each term, and each partition that is held, runs on a thread of its own. Both end before this
    // object does: request `stop` and await them.
    [[nodiscard]] boost::asio::awaitable<std::uint64_t> async_lead(std::string_view key,
                                                                   lease_options options,
                                                                   std::stop_token stop,
                                                                   const term_body& body);
    template <owning_temporary Body>
    boost::asio::awaitable<std::uint64_t> async_lead(std::string_view key, lease_options options,
                                                     std::stop_token stop, Body&& body) = delete;
    [[nodiscard]] boost::asio::awaitable<void> async_run_partitions(std::string_view name,
                                                                    std::uint32_t count,
                                                                    std::stop_token stop,
                                                                    const partition_body& body,
                                                                    partition_options options = {});
    template <owning_temporary Body>
    boost::asio::awaitable<void> async_run_partitions(std::string_view name, std::uint32_t count,
                                                      std::stop_token stop, Body&& body,
                                                      partition_options options = {}) = delete;

    // What the store knows about the key; nothing: it has no record of it.
    [[nodiscard]] std::optional<record> inspect(std::string_view key);
    [[nodiscard]] boost::asio::awaitable<std::optional<record>> async_inspect(std::string_view key);

    // A page of records in byte order of their keys: those that start with `prefix` and come after
    // `after`, free ones and pawl's own (`pawl/…`) included. Neither is checked as a key is. Pass
    // page::next as `after` to get the next page. Throws option_error unless `limit` is 1 to 1000.
    [[nodiscard]] page list(std::string_view prefix = {}, std::string_view after = {},
                            std::size_t limit = 100);
    [[nodiscard]] boost::asio::awaitable<page> async_list(std::string_view prefix = {},
                                                          std::string_view after = {},
                                                          std::size_t limit = 100);

    // Takes the key from exactly the token `shown`. The key stays in cooldown for `delay`, at most
    // for what was left of the lease. So the holder can stop before the next one starts.
    // A delay of 0 with record::last_token ends a cooldown. False: the key is not held under this
    // token, as it never is under 0, and nothing changed. Throws option_error for a negative delay.
    bool force_release(std::string_view key, fence_token shown, millis delay);
    [[nodiscard]] boost::asio::awaitable<bool> async_force_release(std::string_view key,
                                                                   fence_token shown, millis delay);

    // The guard of a resource that has no place for a token: see <pawl/fence.hpp>. The store
    // remembers the highest token that it accepted for `resource`, a name with the bounds of a key.
    // A token is that of a lease: 0 passes only where no other was accepted, and one from further
    // ahead than the store's max_skew never.
    [[nodiscard]] fence_result check_fence(std::string_view resource, fence_token token,
                                           fence_rule rule = fence_rule::reject_older);
    [[nodiscard]] boost::asio::awaitable<fence_result> async_check_fence(
        std::string_view resource, fence_token token, fence_rule rule = fence_rule::reject_older);

    // Waits until every release and every withdrawal in progress has reached the store, at most for
    // `longest` or until `stop` is requested. True: none is left. No store's failure is thrown.
    // A claim that failed with errc::outcome_unknown is withdrawn in the background, so that
    // another node can have the key and its occurrence. A program that ends right after such a
    // failure calls this first, with the TTL of the claim. Less than 0 counts as 0.
    bool drain(millis longest, std::stop_token stop = {});
    [[nodiscard]] boost::asio::awaitable<bool> async_drain(millis longest,
                                                           std::stop_token stop = {});

    // The journal that records runs; null where there is none. Its operations, in
    // <pawl/spi/journal.hpp>, are awaited on get_executor(), so use it no longer than this object.
    // A `limit` beyond page_limit_max is cut to it. Throws store_error if it cannot be opened.
    [[nodiscard]] std::shared_ptr<journal> run_journal();

    // What the store says about its own health, as `pawl doctor` shows it.
    [[nodiscard]] examination examine();
    [[nodiscard]] boost::asio::awaitable<examination> async_examine();

    // open_options::owner, or the name that was made in its place. Does not block. Not of a
    // temporary, whose text ends with the expression.
    [[nodiscard]] const std::string& owner() const&;
    const std::string& owner() const&& = delete;

    // What the store can do. Does not block.
    [[nodiscard]] store_traits traits() const;

    // Pawl's own loop. Coroutines on it save a switch for each call; they must not block, as the
    // heartbeat of every lease waits for them. What a handler on it throws ends the process. It
    // must not be used after the end of its `locks`.
    [[nodiscard]] boost::asio::any_io_executor get_executor() const;

    // -- A semaphore

    // Acquires one of the slots of a semaphore: one of the keys NAME/0 to NAME/(slots-1). So at
    // most `slots` processes hold one, if all pass the same number; where they do not, the largest
    // counts. Nothing: all are held. Asks the store for one key after another, from a random one
    // on.
    // Throws option_error unless `slots` is 1 to slots_max, for an occurrence, for
    // reentrancy::instance, for a name that leaves no room for what follows it, and for options
    // that validate() rejects.
    [[nodiscard]] acquired<slot> try_acquire_slot(std::string_view name, std::uint32_t slots,
                                                  const lease_options& options);

    // Waits until one of the slots is free, at most for `wait`, or until `stop` is requested;
    // nothing if all were held until then. Whichever is free first ends the wait. Those who wait
    // in one process get theirs in the order in which they came, and cost the store one waiter for
    // each slot. A store that cannot be reached is asked for no longer than `wait` either, but for
    // the timeout of the first request. Throws as try_acquire_slot() does, and option_error for a
    // negative `wait`.
    [[nodiscard]] acquired<slot> acquire_slot(std::string_view name, std::uint32_t slots,
                                              const lease_options& options, millis wait,
                                              std::stop_token stop = {});

    // The same for Asio programs, with what is said of the other `async_` calls.
    [[nodiscard]] boost::asio::awaitable<acquired<slot>> async_try_acquire_slot(
        std::string_view name, std::uint32_t slots, lease_options options);
    [[nodiscard]] boost::asio::awaitable<acquired<slot>> async_acquire_slot(
        std::string_view name, std::uint32_t slots, lease_options options, millis wait,
        std::stop_token stop = {});

    // -- Several keys at once

    // Acquires all of the keys or none. Waits for them at most for `wait` in all, or until `stop`
    // is requested; 0: does not wait. Nothing: one of them was busy until then. Keys are acquired
    // in byte order, whatever order they are passed in, so that callers never wait for each other
    // in a circle. While it waits for one key, the call holds those before it, and renews them.
    // Each key has a lease of its own with these options. If one is lost before all are acquired,
    // the call starts again.
    // Throws option_error unless there are 1 to lease_set_max different keys, for an occurrence,
    // for reentrancy::instance, for a negative `wait`, and for options that validate() rejects.
    [[nodiscard]] acquired<lease_set> acquire_all(std::initializer_list<std::string_view> keys,
                                                  const lease_options& options,
                                                  millis wait = millis{0},
                                                  std::stop_token stop = {});
    [[nodiscard]] acquired<lease_set> acquire_all(const std::vector<std::string>& keys,
                                                  const lease_options& options,
                                                  millis wait = millis{0},
                                                  std::stop_token stop = {});
    // The same for Asio programs. Await it on any executor; a cancellation withdraws what was
    // claimed.
    [[nodiscard]] boost::asio::awaitable<acquired<lease_set>> async_acquire_all(
        std::initializer_list<std::string_view> keys, lease_options options,
        millis wait = millis{0}, std::stop_token stop = {});
    [[nodiscard]] boost::asio::awaitable<acquired<lease_set>> async_acquire_all(
        const std::vector<std::string>& keys, lease_options options, millis wait = millis{0},
        std::stop_token stop = {});

    // -- A store's failure as a value

    // The same calls, which do not throw store_error: the failure is one of the answers. There is
    // no answer that converts to bool, so that none is taken for a lease by mistake. A mistake of
    // the caller's still throws option_error.
    [[nodiscard]] acquire_result<lease, failure> try_acquire(std::string_view key,
                                                             const lease_options& options,
                                                             std::nothrow_t);
    [[nodiscard]] acquire_result<lease, failure> acquire(std::string_view key,
                                                         const lease_options& options, millis wait,
                                                         std::nothrow_t, std::stop_token stop = {});
    [[nodiscard]] acquire_result<lease, failure> acquire_with_reason(std::string_view key,
                                                                     const lease_options& options,
                                                                     std::nothrow_t,
                                                                     wait_policy how_long = {},
                                                                     std::stop_token stop = {});
    [[nodiscard]] result<std::optional<record>> inspect(std::string_view key, std::nothrow_t);
    [[nodiscard]] result<fence_result> check_fence(std::string_view resource, fence_token token,
                                                   std::nothrow_t,
                                                   fence_rule rule = fence_rule::reject_older);

    // -- Completion tokens

    // The `async_` calls of above with a completion token of Asio as the last argument; see
    // <pawl/completion.hpp>. They return what the token makes of the answer. async_lead() and
    // async_run_partitions() are awaited only.
    template <completion_token<acquired<lease>> Token>
    [[nodiscard]] auto async_try_acquire(std::string_view key, lease_options options,
                                         Token&& token) {
        return detail::complete(async_try_acquire(key, options), std::forward<Token>(token));
    }
    template <completion_token<acquired<lease>> Token>
    [[nodiscard]] auto async_acquire(std::string_view key, lease_options options, millis wait,
                                     Token&& token) {
        return detail::complete(async_acquire(key, options, wait), std::forward<Token>(token));
    }
    template <completion_token<acquire_result<lease>> Token>
    [[nodiscard]] auto async_acquire_with_reason(std::string_view key, lease_options options,
                                                 wait_policy how_long, Token&& token) {
        return detail::complete(async_acquire_with_reason(key, options, how_long),
                                std::forward<Token>(token));
    }
    template <completion_token<run_outcome> Token>
    [[nodiscard]] auto async_run(const job& what, std::stop_token stop, Token&& token) {
        return detail::complete(async_run(what, std::move(stop)), std::forward<Token>(token));
    }
    template <completion_token<run_outcome> Token>
    auto async_run(const job&& what, std::stop_token stop, Token&& token) = delete;
    template <completion_token<std::optional<record>> Token>
    [[nodiscard]] auto async_inspect(std::string_view key, Token&& token) {
        return detail::complete(async_inspect(key), std::forward<Token>(token));
    }
    template <completion_token<page> Token>
    [[nodiscard]] auto async_list(std::string_view prefix, std::string_view after,
                                  std::size_t limit, Token&& token) {
        return detail::complete(async_list(prefix, after, limit), std::forward<Token>(token));
    }
    template <completion_token<bool> Token>
    [[nodiscard]] auto async_force_release(std::string_view key, fence_token shown, millis delay,
                                           Token&& token) {
        return detail::complete(async_force_release(key, shown, delay), std::forward<Token>(token));
    }
    template <completion_token<bool> Token>
    [[nodiscard]] auto async_drain(millis longest, std::stop_token stop, Token&& token) {
        return detail::complete(async_drain(longest, std::move(stop)), std::forward<Token>(token));
    }
    template <completion_token<examination> Token>
    [[nodiscard]] auto async_examine(Token&& token) {
        return detail::complete(async_examine(), std::forward<Token>(token));
    }
    template <completion_token<fence_result> Token>
    [[nodiscard]] auto async_check_fence(std::string_view resource, fence_token token,
                                         fence_rule rule, Token&& when_done) {
        return detail::complete(async_check_fence(resource, token, rule),
                                std::forward<Token>(when_done));
    }
    template <completion_token<acquired<slot>> Token>
    [[nodiscard]] auto async_try_acquire_slot(std::string_view name, std::uint32_t slots,
                                              lease_options options, Token&& token) {
        return detail::complete(async_try_acquire_slot(name, slots, options),
                                std::forward<Token>(token));
    }
    template <completion_token<acquired<slot>> Token>
    [[nodiscard]] auto async_acquire_slot(std::string_view name, std::uint32_t slots,
                                          lease_options options, millis wait, Token&& token) {
        return detail::complete(async_acquire_slot(name, slots, options, wait),
                                std::forward<Token>(token));
    }
    template <completion_token<acquired<lease_set>> Token>
    [[nodiscard]] auto async_acquire_all(const std::vector<std::string>& keys,
                                         lease_options options, millis wait, Token&& token) {
        return detail::complete(async_acquire_all(keys, options, wait), std::forward<Token>(token));
    }

private:
    friend class mutex;
    friend class scheduler;
    std::unique_ptr<runtime::core> core_;
};

}  // namespace pawl
