// Publishes changes of the store and of the journal to all event streams (publish/subscribe).
//
// One reader for each topic, however many subscribe, and none while none does. What changed is
// written as text once, and shared by all streams. A viewer that does not keep up is let go of: it
// comes back and reads the lists anew, which costs less than what it has missed.
#pragma once

#include "api/monitoring/event_parts.hpp"
#include "api/request/context.hpp"
#include "http/message.hpp"
#include "net/event.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/json/fwd.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pawl::api {

// Between two looks at one topic; longer where a look takes more than a tenth of it.
constexpr millis look_interval{1'000};
constexpr millis overview_interval{5'000};
constexpr int look_share = 10;
// So that proxies know that the stream lives, and a page that the node is not frozen.
constexpr millis heartbeat_interval{1'000};
// A viewer is greeted when the first looks at its topics are over, and after so long in any case.
constexpr millis hello_wait_max{2'000};
// Events that a viewer has not taken, and their bytes, unless it is one alone.
constexpr std::size_t backlog_max = 64;
constexpr std::size_t backlog_bytes_max = std::size_t{4} * 1024 * 1024;
constexpr std::size_t locks_watched_max = 20'000;
constexpr std::size_t jobs_watched_max = 2'000;
// A lease that was renewed as expected is told that often; a heartbeat of a run likewise.
constexpr millis remaining_tolerated{500};
constexpr millis heartbeat_told{5'000};

enum class topic { locks, runs, jobs, nodes, audit, overview };
constexpr std::size_t topics_count = 6;

class topic_set {
public:
    void insert(topic one) { bits_.set(static_cast<std::size_t>(one)); }
    bool contains(topic one) const { return bits_.test(static_cast<std::size_t>(one)); }
    bool empty() const { return bits_.none(); }

private:
    std::bitset<topics_count> bits_;
};

std::optional<topic> topic_named(std::string_view word);
topic_set every_topic();

// On the loop of its context only. Kept alive by the viewers and by what reads for them.
class live : public std::enable_shared_from_this<live> {
public:
    explicit live(shared_context around);

    // Writes events until the viewer has gone.
    static boost::asio::awaitable<void> follow(std::shared_ptr<live> self, topic_set wanted,
                                               std::shared_ptr<http::body_stream> where);
    std::size_t viewers() const noexcept { return viewers_.size(); }

private:
    using event = std::shared_ptr<const std::string>;
    struct viewer {
        topic_set wanted;
        std::deque<event> backlog;
        std::size_t backlog_bytes = 0;
        bool greeted = false;
        bool lost = false;  // did not keep up
        net::event wake{};
    };
    struct seen_lock {
        fence_token holder{}, newest{};
        std::optional<occurrence> last_done{};
        std::uint32_t waiters = 0;
        instant until{};
        std::uint64_t look = 0;
    };
    struct seen_run {
        std::string print;  // a digest, as checkpoints are long: of all but the heartbeat
        std::int64_t heartbeat = 0;
        std::uint64_t look = 0;
    };
    struct seen_job {
        std::string print;
        std::uint64_t look = 0;
    };

    static boost::asio::awaitable<void> watch(std::shared_ptr<live> self, topic what);
    static async<void> look(std::shared_ptr<live> self, topic what);
    static async<void> look_at_locks(std::shared_ptr<live> self);
    static async<void> look_at_runs(std::shared_ptr<live> self);
    static async<void> look_at_jobs(std::shared_ptr<live> self);
    static async<void> look_at_nodes(std::shared_ptr<live> self);
    static async<void> look_at_audit(std::shared_ptr<live> self);
    static async<void> look_at_overview(std::shared_ptr<live> self);

    bool is_watched(topic what) const;
    bool is_first_look(topic what) const { return looks_[static_cast<std::size_t>(what)] == 1; }
    // What changes during a first look is not told.
    bool is_in_first_look(topic_set wanted) const;
    void end_first_look(topic what, const failure* why);
    void start_watching(topic what);
    void forget(topic what);
    void give_up(topic what, const std::exception_ptr& why);
    bool has_changed(const record& lock, instant now);
    // What is too long to be told is dropped from the run.
    bool has_changed(run_record& run);
    void tell(topic what, std::string_view name, boost::json::object data);
    void tell_gap(topic what);
    // `list` is the member that has the entries; each event has `gone` where it is given.
    void tell_parts(topic what, std::string_view list, const event_parts& parts,
                    const boost::json::array* gone);
    void send(topic what, std::string_view name, std::string_view data);
    void tell_trouble(topic what, const failure* why);
    void push(viewer& to, const event& one);

    // Constant after construction
    shared_context around_;
    // State
    std::list<viewer> viewers_;
    std::array<bool, topics_count> watching_{};
    std::array<bool, topics_count> looked_{};  // the first look is over, or has failed
    std::array<bool, topics_count> in_trouble_{};
    std::array<std::uint64_t, topics_count> looks_{};  // since a viewer began to look
    std::unordered_map<std::string, seen_lock> locks_;
    std::unordered_map<std::string, seen_run> runs_;
    std::map<std::string, seen_job> jobs_;
    std::string nodes_;
    std::uint64_t audited_ = 0;
    std::uint64_t next_id_ = 1;
};

}  // namespace pawl::api
