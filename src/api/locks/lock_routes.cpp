#include "api/locks/lock_routes.hpp"

#include "api/jobs/run_rows.hpp"
#include "api/locks/fence_token_text.hpp"
#include "api/request/json_body.hpp"
#include "api/request/list_writer.hpp"
#include "api/request/problem.hpp"
#include "api/request/query_parameters.hpp"
#include "api/route_caches.hpp"
#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/reserved_names.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "documents/documents.hpp"
#include "documents/reason.hpp"
#include "runtime/change_effect.hpp"
#include "schedule/dispatcher.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
namespace json = boost::json;

// The route of seed 004 takes a key alone; the audit wants to know why.
constexpr std::string_view compat_reason = "released through /api/locks/release";
// Of the started runs of one job: as many as it can have partitions.
constexpr std::size_t runs_looked_at = 2 * page_limit_max;
// A page that ends with a key that is no UTF-8 is that much longer at most.
constexpr std::size_t strange_keys_max = 1'000;

lease_store& store_of(const context& around) { return around.core->running()->store(); }

std::string shown(std::string_view key) { return "'" + base::printable(key) + "'"; }

http::response no_such_lock(std::string_view key) {
    return problem(404, "no lock is known under the key " + shown(key) + ": see /api/v1/locks");
}

awaitable<http::response> page_response(shared_context around, shared_call asked,
                                        std::vector<record> some, std::string next,
                                        std::string as_of) {
    list_writer locks{around->core->loop(), "locks", std::move(as_of)};
    for (const auto& one : some) {
        locks.add(documents::json_of(one));
        if (!locks.turn_is_over()) continue;
        auto turning = locks.give_turn();
        co_await std::move(turning);
    }
    co_return locks.finish(*asked, next);
}

awaitable<http::response> list_locks(shared_context around, shared_call asked) {
    if (auto bad = query_fault(*asked, {"prefix", "after", "limit"})) co_return std::move(*bad);
    const auto request = page_of(*asked);
    if (const auto* bad = std::get_if<http::response>(&request)) co_return *bad;
    const auto& [after, limit] = std::get<page_request>(request);
    const auto prefix = asked->query.find("prefix");
    const auto as_of = documents::now_text();
    auto listing =
        store_of(*around).list(prefix == asked->query.end() ? "" : prefix->second, after, limit);
    auto found = co_await std::move(listing);
    if (found.has_error()) co_return problem_of_page(found.error(), after);
    // A page ends with a key that a request can name, or the next one would begin somewhere else.
    for (std::size_t i = 0; i < strange_keys_max && !base::is_utf8(found->next); ++i) {
        auto going_on = store_of(*around).list(prefix == asked->query.end() ? "" : prefix->second,
                                               found->next, 1);
        auto more = co_await std::move(going_on);
        if (more.has_error()) co_return problem_of(more.error());
        std::move(more->records.begin(), more->records.end(), std::back_inserter(found->records));
        found->next = std::move(more->next);
    }
    auto writing = page_response(around, asked, std::move(found->records), found->next, as_of);
    co_return co_await std::move(writing);
}

// Those that are held now, out of all that the store remembers.
awaitable<http::response> list_active(shared_context around, shared_call asked) {
    if (auto bad = query_fault(*asked, {"after", "limit"})) co_return std::move(*bad);
    const auto request = page_of(*asked);
    if (const auto* bad = std::get_if<http::response>(&request)) co_return *bad;
    const auto limit = std::get<page_request>(request).limit;
    auto next = std::get<page_request>(request).after;
    const auto as_of = documents::now_text();
    std::vector<record> active;
    for (int read = 0; read < active_pages_max; ++read) {
        auto listing = store_of(*around).list("", next, page_limit_max);
        const auto found = co_await std::move(listing);
        if (found.has_error()) co_return problem_of_page(found.error(), next);
        next = found->next;
        for (const auto& one : found->records) {
            if (number(one.holder) == 0) continue;
            // One more than fits: the next page goes on after the last that does, which is one that
            // a request can name.
            if (active.size() >= limit && base::is_utf8(active.back().key)) {
                next = active.back().key;
                auto writing = page_response(around, asked, std::move(active), next, as_of);
                co_return co_await std::move(writing);
            }
            active.push_back(one);
        }
        if (next.empty() || (active.size() >= limit && base::is_utf8(next))) break;
    }
    auto writing = page_response(around, asked, std::move(active), next, as_of);
    co_return co_await std::move(writing);
}

// -- how long a force-released key stays in cooldown

// What is left to a run whose lease is lost, whatever its grace, and to an answer of the store.
constexpr millis lost_grace_max{10'000};
constexpr millis answer_max{2'000};
// A run goes by what its job said when it began, and no run renews later without a warning.
constexpr double renew_fraction_least = 0.34;
constexpr double renew_jitter = 0.1;

millis renew_interval_of(const documents::job_terms& job) {
    const auto* said = job.definition.if_contains("renew_fraction");
    const auto fraction =
        said != nullptr && said->is_number() ? said->to_number<double>() : renew_fraction_least;
    return std::chrono::round<millis>(std::chrono::duration<double, std::milli>{
        static_cast<double>(job.ttl.count()) * std::max(fraction, renew_fraction_least) *
        (1 + renew_jitter)});
}

millis grace_of(const documents::job_terms& job) {
    const auto* said = job.definition.if_contains("grace");
    if (said == nullptr || !said->is_string()) return lost_grace_max;
    const auto grace = base::parse_duration(said->as_string());
    return grace.has_value() ? std::min(*grace, lost_grace_max) : lost_grace_max;
}

// Rule 5. A holder that renews learns of its forced release at its next renewal, and has its grace
// then. When that is can be said of a run alone whose agent is heard of and has renewed in time:
// any other holder, or where anything is not known, it is all that is left of the lease (ttl_max:
// the store takes the least of both), which is always enough.
awaitable<millis> cooldown_of(shared_context around, record lock) {
    const auto of = job_of(lock.key);
    if (!of || !around->records || number(lock.holder) == 0) co_return ttl_max;
    auto finding = find_holding_run(around, lock.key, lock.holder);
    const auto holder = co_await std::move(finding);
    auto listing = around->records->list_nodes();
    const auto nodes = co_await std::move(listing);
    auto looking = around->records->find_job(of->job);
    const auto entry = co_await std::move(looking);
    if (!holder.run || nodes.has_error() || entry.has_error() || !*entry) co_return ttl_max;
    const bool is_heard = std::any_of(nodes->begin(), nodes->end(), [&](const node_entry& one) {
        return one.id == lock.owner && one.age <= schedule::node_heartbeat_timeout;
    });
    const auto job = terms_of(*around, **entry);
    const auto interval = renew_interval_of(*job);
    const bool is_on_time = lock.remaining <= job->ttl && lock.remaining >= job->ttl - 2 * interval;
    if (!is_heard || !is_on_time) co_return ttl_max;
    co_return interval + answer_max + grace_of(*job);
}

awaitable<http::response> show_lock(shared_context around, shared_call asked) {
    const auto& key = asked->path.find("key")->second;
    if (auto bad = base::key_fault(key)) co_return problem(400, *bad);
    const auto as_of = documents::now_text();
    auto looking = store_of(*around).inspect(key);
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return problem_of(seen.error());
    if (!*seen) co_return no_such_lock(key);
    const auto& lock = **seen;
    const auto of = job_of(key);
    auto finding = find_holding_run(around, key, lock.holder);
    const auto holder = co_await std::move(finding);
    auto waiting = cooldown_of(around, lock);
    const auto cooldown = co_await std::move(waiting);
    auto document = documents::json_of(lock);
    document["cooldown_ms"] = std::min(cooldown, lock.remaining).count();
    document["newest_token"] = number(lock.last_token);
    document["job"] = nullptr;
    if (of) document["job"] = of->job;
    document["partition"] = of ? of->partition : 0;
    document["run"] = nullptr;
    if (holder.run) document["run"] = documents::json_of(*holder.run);
    if (holder.trouble) document["run_unknown"] = holder.trouble->detail;
    document["as_of"] = as_of;
    co_return tagged_response(*asked, document, {"as_of"});
}

enum class delaying { until_stopped, none };

struct forced_release {
    record lock;  // as it was shown
    std::string reason;
    delaying how = delaying::until_stopped;
};

awaitable<http::response> passed_on(shared_context around, record lock, fence_token asked_for) {
    auto looking = store_of(*around).inspect(lock.key);
    const auto seen = co_await std::move(looking);
    if (seen.has_value() && *seen) lock = **seen;
    json::object more;
    more["newest"] = number(lock.last_token);
    const auto now = number(lock.holder) == 0
                         ? std::string{"it has no holder now"}
                         : "it is held by " + base::printable(lock.owner) + " under token " +
                               std::to_string(number(lock.holder)) + " now";
    co_return problem(409,
                      "not released: " + shown(lock.key) + " has passed on from token " +
                          std::to_string(number(asked_for)) + "; " + now + ": look again",
                      std::move(more));
}

awaitable<http::response> carry_out(shared_context around, shared_call asked, forced_release what) {
    const auto& lock = what.lock;
    millis delay{0};
    if (what.how == delaying::until_stopped) {
        auto waiting = cooldown_of(around, lock);
        delay = co_await std::move(waiting);
    }
    auto releasing = runtime::make_change([around, lock, delay] {
        return store_of(*around).force_release(lock.key, documents::releasable(lock), delay);
    });
    const auto done = co_await std::move(releasing);
    if (done.has_error()) co_return problem_of(done.error());
    if (*done == runtime::change_effect::none) {
        auto telling = passed_on(around, lock, documents::releasable(lock));
        co_return co_await std::move(telling);
    }
    // Where the second request found no holder, the key may have passed on by itself.
    const bool sure = *done == runtime::change_effect::made;
    auto line = documents::force_release_line(lock, what.reason);
    if (!sure) line += "; whether it took effect is not known";
    if (what.how == delaying::none)
        line += "; without delay: until the old holder notices, two may run";
    around->log(log_level::warn, base::printable(line));
    auto detail = documents::force_release_detail(lock, what.reason);
    auto auditing = audit(around, asked->who.name, "lock.release", lock.key,
                          sure ? std::move(detail) : documents::in_doubt(std::move(detail)));
    co_await std::move(auditing);
    if (!sure)
        co_return unknown_outcome("the store did not say whether " + shown(lock.key) +
                                  " was released: look again");
    around->instruments->forced_release();
    auto looking = store_of(*around).inspect(lock.key);
    const auto after = co_await std::move(looking);
    auto free_in = std::min(delay, lock.remaining);
    // What the next holder has left is no wait: the key was free when it was granted.
    if (after.has_value())
        free_in = *after && number((*after)->holder) == 0 ? (*after)->remaining : millis{0};
    json::object document;
    document["key"] = lock.key;
    document["fence_token"] = number(documents::releasable(lock));
    document["owner"] = number(lock.holder) != 0 ? lock.owner : std::string{};
    document["reason"] = what.reason;
    document["free_in_ms"] = free_in.count();
    co_return json_response(200, document);
}

// Or why it cannot be released.
awaitable<std::variant<record, http::response>> lock_to_release(shared_context around,
                                                                std::string key,
                                                                std::string reason) {
    if (auto bad = base::key_fault(key)) co_return problem(400, *bad);
    if (const auto bad = documents::reason_fault(reason)) co_return problem(400, *bad);
    auto looking = store_of(*around).inspect(key);
    auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return problem_of(seen.error());
    if (!*seen) co_return no_such_lock(key);
    co_return std::move(**seen);
}

awaitable<http::response> release_lock(shared_context around, shared_call asked) {
    body_reader body{*asked->request, {"key", "fence_token", "reason", "now"}};
    const auto key = body.required_text("key");
    const fence_token token{
        static_cast<std::uint64_t>(body.required_integer("fence_token", 1, fence_token_max))};
    forced_release what;
    what.reason = body.required_text("reason");
    if (body.boolean("now").value_or(false)) what.how = delaying::none;
    if (body.fault()) co_return *body.fault();
    auto looking = lock_to_release(around, key, what.reason);
    auto seen = co_await std::move(looking);
    if (auto* rejected = std::get_if<http::response>(&seen)) co_return std::move(*rejected);
    what.lock = std::get<record>(std::move(seen));
    if (documents::releasable(what.lock) != token) {
        auto telling = passed_on(around, what.lock, token);
        co_return co_await std::move(telling);
    }
    if (number(what.lock.holder) == 0 && what.how != delaying::none)
        co_return problem(409, "lock " + shown(key) + " has no holder, and its cooldown ends in " +
                                   base::format_duration(what.lock.remaining) +
                                   ": to free it at once, set \"now\" to true");
    auto doing = carry_out(around, asked, std::move(what));
    co_return co_await std::move(doing);
}

awaitable<http::response> release_compat(shared_context around, shared_call asked) {
    body_reader body{*asked->request, {"key", "reason"}};
    const auto key = body.required_text("key");
    forced_release what;
    what.reason = body.text("reason").value_or(std::string{compat_reason});
    if (body.fault()) co_return *body.fault();
    auto looking = lock_to_release(around, key, what.reason);
    auto seen = co_await std::move(looking);
    if (auto* rejected = std::get_if<http::response>(&seen)) co_return std::move(*rejected);
    what.lock = std::get<record>(std::move(seen));
    if (number(what.lock.holder) == 0)
        co_return problem(409,
                          "lock " + shown(key) + " has no holder: there is nothing to release");
    auto doing = carry_out(around, asked, std::move(what));
    co_return co_await std::move(doing);
}

}  // namespace

std::optional<job_key> job_of(std::string_view key) {
    if (!key.starts_with(base::job_key_prefix)) return std::nullopt;
    key.remove_prefix(base::job_key_prefix.size());
    const auto slash = key.find('/');
    job_key found{std::string{key.substr(0, slash)}, 0};
    if (found.job.empty()) return std::nullopt;
    if (slash == std::string_view::npos) return found;
    const auto partition = base::parse_number<decltype(found.partition)>(key.substr(slash + 1));
    if (!partition) return std::nullopt;
    found.partition = *partition;
    return found;
}

namespace {

// A run of `pawl exec`, or of a program, is recorded under its key; one of a slot or a partition
// under the name before its number.
std::vector<std::string> jobs_that_may_hold(const std::string& key) {
    if (const auto of = job_of(key)) return {of->job};
    std::vector<std::string> names{key};
    const auto slash = key.rfind('/');
    if (slash != std::string::npos && slash > 0 &&
        base::parse_number<std::uint32_t>(std::string_view{key}.substr(slash + 1)))
        names.push_back(key.substr(0, slash));
    return names;
}

}  // namespace

awaitable<holding_run> find_holding_run(shared_context around, std::string key,
                                        fence_token holder) {
    holding_run found;
    if (!around->records || number(holder) == 0) co_return found;
    for (const auto& job : jobs_that_may_hold(key)) {
        run_filter which;
        which.status = run_status::started;
        which.job = job;
        const auto same = std::make_shared<std::optional<run_record>>();
        row_visitor look = [same, key, holder](run_record run) {
            if (run.key != key || run.token != holder) return true;
            *same = std::move(run);
            return false;
        };
        auto reading = visit_runs(around, std::move(which), runs_looked_at, std::move(look));
        const auto read = co_await std::move(reading);
        if (read.has_error()) found.trouble = read.error();
        found.run = std::move(*same);
        if (found.run || found.trouble) break;
    }
    co_return found;
}

routes lock_routes(shared_context around) {
    const auto by = [around](awaitable<http::response> (*what)(shared_context, shared_call)) {
        return [around, what](shared_call asked) { return what(around, std::move(asked)); };
    };
    return {
        {"GET", "/api/v1/locks", access::viewer, by(list_locks), cost::much},
        {"GET", "/api/v1/locks/{key*}", access::viewer, by(show_lock), cost::much},
        {"POST", "/api/v1/locks/release", access::admin, by(release_lock)},
        {"GET", "/api/locks/active", access::viewer, by(list_active), cost::much},
        {"POST", "/api/locks/release", access::admin, by(release_compat)},
    };
}

}  // namespace pawl::api
