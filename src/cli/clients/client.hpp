// What the commands ask: a store and its journal, or an agent's API.
//
// Both sides answer with the same records, so that a command prints the same. Verbs block; they
// throw store_error for what failed, and exit_error for what was rejected.
#pragma once

#include "cli/options/configuration.hpp"
#include "cli/output/status.hpp"
#include "health/doctor.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

// A forced release of a lock as it was shown.
struct forced_release {
    record shown;
    std::string reason;
    std::optional<millis> delay{};  // nothing: what is left of its lease
};

struct seen_job {
    boost::json::object document;    // see list_jobs
    std::vector<run_record> runs{};  // the newest first
};

struct run_request {
    std::string job;
    std::vector<std::string> arguments{};
    std::optional<std::uint32_t> partition{};
    bool resume = false;
};

// A run, or that it is requested and no agent has taken it up.
struct seen_run {
    std::optional<run_record> run{};
    std::optional<std::string> waits_for{};  // the job of the trigger, where it can be told
};

struct run_details {
    run_record run;
    std::vector<run_event> history;
};

struct cancelled_run {
    std::string job;
    bool withdrawn = false;    // it had not begun
    bool is_finished = false;  // no node had it
};

// Takes what a run has written. Throws exit_error when it takes no more.
struct output_taker {
    std::function<void(std::string_view)> bytes;
    std::function<void(std::uint64_t)> gap;  // so many bytes were not kept
};

enum class reading { once, following };

class client {
public:
    virtual ~client() = default;
    client() = default;
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    // The status of a command that did what it was told: done, or why the audit log lacks it.
    status outcome() const noexcept { return unaudited_; }

    // -- locks
    virtual page list_locks(const std::string& prefix, const std::string& after,
                            std::size_t limit) = 0;
    virtual std::optional<record> find_lock(const std::string& key) = 0;
    // Rejected when the lock has passed on. Records it, and answers when the key will be free.
    virtual millis release(const forced_release& what) = 0;
    virtual fence_result check_fence(const std::string& resource, fence_token token,
                                     fence_rule rule) = 0;

    // -- jobs
    // Each as the schema Job of the API has it, but for `recent`, which is there to be drawn.
    virtual std::vector<boost::json::object> list_jobs() = 0;
    virtual seen_job show_job(const std::string& name, std::size_t runs) = 0;
    // See documents::dry_run_of.
    virtual boost::json::object dry_run(const run_request& what) = 0;
    virtual std::vector<std::string> ask_for_runs(const run_request& what) = 0;  // their ids
    // Both: false when it was so.
    virtual bool pause_job(const std::string& name, const std::string& reason) = 0;
    virtual bool resume_job(const std::string& name) = 0;

    // -- runs
    virtual run_page list_runs(const run_filter& which, const std::string& after,
                               std::size_t limit) = 0;
    virtual seen_run look_for_run(const std::string& id) = 0;
    virtual run_details show_run(const std::string& id) = 0;
    virtual void read_output(const std::string& id, reading how, const output_taker& into) = 0;
    virtual cancelled_run cancel_run(const std::string& id, const std::string& reason) = 0;

    // -- nodes and the audit
    virtual std::vector<node_entry> list_nodes() = 0;
    virtual std::vector<audit_entry> list_audit(std::uint64_t before, std::size_t limit) = 0;

    // What `pawl doctor --json` prints. An agent has bounds of its own.
    virtual boost::json::object examine(const health::doctor_bounds& bounds) = 0;

protected:
    // Before a failure is: not all that was asked for was queued.
    static void tell_queued_in_part(const std::vector<std::string>& ids);

    status unaudited_ = status::done;
};

// Which client: --url; else --store; else PAWL_URL, outside a run; else the store.
bool asks_an_agent(const globals& options);
std::unique_ptr<client> open_client(const globals& options);

// The two sides. `store` and journal are opened when they are first needed.
std::unique_ptr<client> open_store_client(const globals& options);
// Throws exit_error for a URL or a token that is none.
std::unique_ptr<client> open_api_client(const std::string& url, const std::string& from);

}  // namespace pawl::cli
