// What a store of records with versions gives to the core that makes leases of them.
//
// A medium reads a record together with its version, and writes it only if the version is still the
// same: compare-and-swap. MongoDB, DynamoDB, Azure Blob, S3 and the Kubernetes API can all do that.
// Every decision about leases is the core's (cas_store.hpp), by the rules that all engines share.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::cas {

using micros = std::chrono::microseconds;

enum class record_kind {
    lease,   // one for each key
    fence,   // one for each fenced resource
    marker,  // one for each namespace; its key is empty
    journal  // what ../journal keeps; only where the engine has a journal
};

// A class with a constructor: g++ 12 destroys aggregate temporaries with strings twice inside
// co_await.
struct record_name {
    record_name(record_kind kind, std::string key) : kind{kind}, key{std::move(key)} {}

    record_kind kind;
    // Bytes: 1 to 512, and empty for the marker. Of the journal SCOPE:REST with a scope of up to
    // 1536 bytes without a ':', and 1 to 1024 bytes behind it.
    std::string key;
};

// Of one state of one record: opaque, and never the same for two states of one name, also where the
// record was deleted in between. Empty: there is no record.
using version = std::string;

// The store's own clock, as one answer told it.
struct stamp {
    micros at{0};        // since the Unix epoch, rounded down to medium_traits::clock_step
    instant asked{};     // before the request left
    instant answered{};  // after the answer came
};

// What stands under a name. A class for the reason above.
struct seen {
    std::string text;  // what the core wrote; empty without a record
    version at;
    std::optional<stamp> clock;  // nothing: this answer carried none
};

// What stands there was not written by the core: without a text, and of a version that no write
// has. read() fails with it; where many are read or listed, the others are there beside it.
seen foreign_record();

// It was written, and this is what it is now.
struct written {
    version at;
    std::optional<stamp> clock;
};

// It was not: the version was another. What stands there, where the medium's answer says so.
struct conflict {
    std::optional<seen> now;
    std::optional<stamp> clock;
};

using write_answer = std::variant<written, conflict>;

// One conditional write. `expected` empty: only if there is no record.
struct change {
    change(record_name name, std::string text, version expected)
        : name{std::move(name)}, text{std::move(text)}, expected{std::move(expected)} {}

    record_name name;
    std::string text;  // one line of UTF-8, at most text_max bytes; of the journal journal_text_max
    version expected;
    // Decided on from memory: its answer has to carry a stamp, or a clock that stood still is not
    // noticed. Written without one it counts as unknown.
    bool asks_time = false;
};

constexpr std::size_t text_max = 4096;
constexpr std::size_t journal_text_max = std::size_t{380} * 1000;

// Some records in byte order of their keys.
struct listing {
    std::vector<std::pair<std::string, seen>> records;
    bool more = false;  // others follow
};

struct medium_traits {
    micros clock_step{1'000'000};  // stamps are rounded down to a multiple of this
    micros skew{0};             // how far the clocks of two answers may differ, unless the URL says
    std::size_t batch_max = 1;  // writes that one request can carry, each with its own answer
    bool watches = false;       // watch() is woken by the store
    bool forgets = false;       // may lose what it has answered, by a failover of its own
    millis ttl_min{1};
    millis ttl_step{1};
};

// Which part of a list is asked for: at most `limit` records, 1 to 1000, whose keys begin with
// `prefix`, behind `after`. Of the journal, `prefix` begins with a whole scope. A class for the
// reason above.
struct list_order {
    list_order(record_kind its_kind, std::string its_prefix, std::string behind, std::size_t most)
        : kind{its_kind}, prefix{std::move(its_prefix)}, after{std::move(behind)}, limit{most} {}

    record_kind kind;
    std::string prefix;
    std::string after;
    std::size_t limit;
};

// One namespace of one server. Used on its loop only; verbs may be awaited concurrently, end by
// `until`, and never throw. Failures: `unreachable` only where nothing can have been written;
// `outcome_unknown` where it may have been. Made by make_shared: a request that its caller has left
// keeps it alive.
class medium : public std::enable_shared_from_this<medium> {
public:
    virtual ~medium() = default;
    medium() = default;
    medium(const medium&) = delete;
    medium& operator=(const medium&) = delete;

    virtual medium_traits traits() const noexcept = 0;

    // Where the records are, to begin a message with: the host and the table, without a secret.
    virtual std::string place() const = 0;

    // What has to be there before the first record: a table, a container. Creates it where it may,
    // and says what identifies the data: another identity is another data set, such as a restored
    // table. Empty: nothing does. Called before the first verb, and again after it has failed.
    virtual async<std::string> prepare(instant until) = 0;

    // Whether prepare() has had an answer from the server: if so, what it still waits for takes
    // its time, and is not gone.
    virtual bool has_answered() const noexcept { return false; }

    // Linearizable: the newest state whose write was acknowledged.
    virtual async<seen> read(record_name name, instant until) = 0;

    // Several at once, in order; by default bounded parallel requests. No more than 100, of which
    // some may be the same.
    virtual async<std::vector<seen>> read_many(std::vector<record_name> names, instant until);

    virtual async<write_answer> write(change what, instant until) = 0;

    // Several at once, one answer each, in order; each happens or not by itself. `changes` outlives
    // the await, and has at most batch_max of them where that is above 1. By default bounded
    // parallel requests.
    virtual async<std::vector<result<write_answer>>> write_many(std::span<const change> changes,
                                                                instant until);

    // Deletes it if its version is `expected`.
    virtual async<write_answer> erase(record_name name, version expected, instant until) = 0;

    // In byte order of their keys.
    virtual async<listing> list(list_order what, instant until) = 0;

    // Ends when the record may have another version than `known`: a hint. Cancellable (terminal).
    // Asked only where traits().watches.
    virtual async<void> watch(record_name name, version known);

    // Beside the core's own findings: what `pawl doctor` should say of this server.
    virtual async<examination> examine(instant until) = 0;
};

}  // namespace pawl::cas
