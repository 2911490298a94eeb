// The way in: opens a store, claims keys, keeps what is held alive.
//
//     pawl::locks locks = pawl::locks::open("redis://127.0.0.1:6379");
//     if (auto lease = locks.try_acquire("invoices/nightly", {.ttl = 30s}))
//         charge(lease->token());
#pragma once

#include <pawl/fence.hpp>
#include <pawl/job.hpp>
#include <pawl/leader.hpp>
#include <pawl/lease.hpp>
#include <pawl/options.hpp>
#include <pawl/partition.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

namespace pawl {

class journal;
namespace net {
class loop;
}
namespace runtime {
class core;
}

// What became of one claim.
using attempt = std::variant<lease, busy, already_done>;

struct open_options {
    std::string owner{};                  // who we are, for people; default host:pid:start:nonce
    std::shared_ptr<observer> watcher{};  // default: nobody
    // Where runs are written down: a store's URL; empty: in the store itself, if it can; "none".
    std::string journal{};
};

// Thread-safe. Outlives its leases: whatever is still held when it goes ends by its TTL, except
// that releases which have begun get 200 ms to reach the store. One object serves a whole process:
// it keeps one connection, renews all its leases in one request, and lets N threads that wait for
// one key cost the store one waiter.
class locks {
public:
    // The URLs are listed in docs/stores/README.md. Throws option_error for a malformed URL, and
    // store_error if the store cannot be opened; a server is first contacted by the first
    // operation.
    static locks open(std::string_view url, open_options options = {});

    // For backends of one's own: `make` is called with the executor to run on. They keep no
    // journal.
    using store_factory = std::function<std::shared_ptr<lease_store>(boost::asio::any_io_executor)>;
    static locks open(const store_factory& make, store_settings settings,
                      open_options options = {});

    explicit locks(std::unique_ptr<runtime::core> core);
    ~locks();
    locks(locks&&) noexcept;
    locks& operator=(locks&&) noexcept;

    // Nothing if somebody else holds the key, or this firing is done. Throws store_error if the
    // store failed and option_error for options that do not go together. All of these block for as
    // long as the store takes, at most its `timeout` for each request.
    std::optional<lease> try_acquire(std::string_view key, const lease_options& options);
    // Waits for the key, at most `wait`, until `stop` is requested.
    std::optional<lease> acquire(std::string_view key, const lease_options& options, millis wait,
                                 std::stop_token stop = {});
    // The same with the reason for a refusal.
    attempt claim_key(std::string_view key, const lease_options& options, patience how_long = {},
                      std::stop_token stop = {});

    // Claims the job's key, runs its body here while the lease is renewed, releases. What the body
    // throws is thrown on, once the lease has been released. The run is written into the journal,
    // where there is one; a journal that is down keeps a run waiting for 2 s at most, and never
    // from running. A firing that the journal knows as over is skipped_done.
    run_outcome run(const job& what, std::stop_token stop = {});

    // Leads whenever elected: waits for the key, runs the body here while it is held, releases, and
    // begins anew until `stop` is requested; returns how many terms it led. A body that returns by
    // itself gives leadership up, and a renewal interval passes before it is asked for again, so
    // that others get a chance; one that was told to stop is waited for. What it throws is thrown
    // on, once the lease has been released. A store that fails is asked again with backoff, for
    // ever once it has answered; one that refuses from the start (denied, protocol, unsupported)
    // throws store_error. Options that make no sense throw option_error: validate(),
    // leadership_fault(). `on_store_down` changes nothing here.
    std::uint64_t lead(std::string_view key, const lease_options& options, std::stop_token stop,
                       const term_body& body);
    // Runs a fair share of the partitions NAME/0 to NAME/(count-1), together with all who call this
    // with the same name and count, each on a thread of its own, until `stop` is requested and all
    // bodies have returned. A body that returns by itself is called again after a renewal interval,
    // by whoever is to have the partition. When one throws, the others of this call are told to
    // stop, and it is thrown on when everything has been released. Fails as lead() does.
    void share(std::string_view name, std::uint32_t count, std::stop_token stop,
               const partition_body& body, const share_options& options = {});

    // The same for Asio programs. Await them on any executor; arguments are copied. Whoever leaves
    // one, by Asio's cancellation or because his context ends, gets nothing and leaves nothing
    // behind: a claim is withdrawn, its occurrence given back. async_run, async_lead and
    // async_share tell their bodies to stop and are over when these have returned, also where the
    // coroutine is destroyed: bodies may use what the program owns.
    boost::asio::awaitable<std::optional<lease>> async_try_acquire(std::string key,
                                                                   lease_options options);
    boost::asio::awaitable<std::optional<lease>> async_acquire(std::string key,
                                                               lease_options options, millis wait,
                                                               std::stop_token stop = {});
    boost::asio::awaitable<attempt> async_claim_key(std::string key, lease_options options,
                                                    patience how_long = {},
                                                    std::stop_token stop = {});
    // The body runs on a thread of its own.
    boost::asio::awaitable<run_outcome> async_run(job what, std::stop_token stop = {});
    // Each term runs on a thread of its own. Both end before this object does: request `stop` and
    // await them.
    boost::asio::awaitable<std::uint64_t> async_lead(std::string key, lease_options options,
                                                     std::stop_token stop, term_body body);
    boost::asio::awaitable<void> async_share(std::string name, std::uint32_t count,
                                             std::stop_token stop, partition_body body,
                                             share_options options = {});

    // What the store knows. `release_by_force` evicts exactly the token shown; the key stays held
    // by nobody for `delay` (rule 5), so that the evicted holder has stopped before the next one
    // starts. Such a cooldown is ended by its record's last_token and a delay of 0.
    std::optional<record> inspect(std::string_view key);
    boost::asio::awaitable<std::optional<record>> async_inspect(std::string key);
    page list(std::string_view prefix = {}, std::string_view after = {}, std::size_t limit = 100);
    bool release_by_force(std::string_view key, fence_token shown, millis delay);

    // The guard of a resource that has no place of its own for a token: see <pawl/fence.hpp>.
    fence_verdict check_fence(std::string_view resource, fence_token token,
                              fence_rule rule = fence_rule::reject_older);
    boost::asio::awaitable<fence_verdict> async_check_fence(
        std::string resource, fence_token token, fence_rule rule = fence_rule::reject_older);

    // Waits until every release and every withdrawal that is under way has reached the store, at
    // most `longest` or until `stop`. True: none is left. A claim that failed with
    // errc::outcome_unknown is withdrawn in the background, so that another node can have the key
    // and its occurrence: a program that ends right after such a failure calls this first, with the
    // TTL of the claim. The destructor waits for 200 ms.
    bool drain(millis longest, std::stop_token stop = {});

    // Where runs are written down; null where they are not. Its verbs are awaited on
    // get_executor(). Throws store_error if it cannot be opened.
    std::shared_ptr<journal> records();

    // What the store says of its own health, as `pawl doctor` shows it.
    examination examine();

    const std::string& owner() const;
    store_traits traits() const;
    // Where pawl itself runs. Coroutines spawned here spare a switch for each call; they must not
    // block.
    boost::asio::any_io_executor get_executor() const;

private:
    friend class scheduler;
    std::unique_ptr<runtime::core> core_;
};

}  // namespace pawl
