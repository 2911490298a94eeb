#include "api/jobs/job_routes.hpp"

#include "api/jobs/control_look.hpp"
#include "api/jobs/run_rows.hpp"
#include "api/request/journal_need.hpp"
#include "api/request/json_body.hpp"
#include "api/request/list_writer.hpp"
#include "api/request/problem.hpp"
#include "api/request/query_parameters.hpp"
#include "api/route_caches.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"
#include "documents/reason.hpp"
#include "engines/rules/journal/control_limits.hpp"
#include "engines/rules/journal/texts.hpp"
#include "runtime/change_effect.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

constexpr std::size_t runs_shown_max = 30;  // of each job in a list
constexpr std::size_t occurrences_shown = 10;
constexpr std::size_t arguments_max = 100;
constexpr std::size_t argument_length_max = std::size_t{4} * 1024;
// Names that are looked at for the nearest one.
constexpr std::size_t names_looked_at = 2'000;

// 404, with the nearest name.
awaitable<http::response> no_such_job(shared_context around, std::string name) {
    auto listing = read_entries(around, "", names_looked_at);
    const auto entries = co_await std::move(listing);
    if (entries.has_error()) co_return problem_of(entries.error());
    std::vector<std::string_view> names;
    for (const auto& one : *entries) names.push_back(one.name);
    co_return problem(404, documents::unknown_job(name, names, "see /api/v1/jobs"));
}

using found_job = std::variant<job_entry, http::response>;

awaitable<found_job> find_job(shared_context around, std::string name) {
    auto finding = around->records->find_job(name);
    auto entry = co_await std::move(finding);
    if (entry.has_error()) co_return problem_of(entry.error());
    if (*entry) co_return std::move(**entry);
    auto rejecting = no_such_job(around, std::move(name));
    auto rejected = co_await std::move(rejecting);
    co_return rejected;
}

// -- to look at

awaitable<http::response> list(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {"after", "limit", "runs"})) co_return std::move(*fault);
    auto request = page_of(*asked);
    if (auto* fault = std::get_if<http::response>(&request)) co_return std::move(*fault);
    auto runs = integer_of(*asked, "runs", 0, runs_shown_max, 0);
    if (auto* fault = std::get_if<http::response>(&runs)) co_return std::move(*fault);
    const auto& page = std::get<page_request>(request);
    const auto most = static_cast<std::size_t>(std::get<std::int64_t>(runs));
    auto reading = read_job_page(around, page.after, page.limit, most, thoroughness::page);
    const auto found = co_await std::move(reading);
    if (found.has_error()) co_return problem_of(found.error());
    list_writer jobs{around->core->loop(), "jobs", documents::time_text(found->now->as_of)};
    std::string last;
    for (const auto& one : found->jobs) {
        jobs.add(json_of(one, *found->now, most));
        last = one.entry.name;
        if (jobs.is_full()) break;
        if (!jobs.turn_is_over()) continue;
        auto turning = jobs.give_turn();
        co_await std::move(turning);
    }
    const bool ends = found->ends && jobs.size() == found->jobs.size();
    co_return jobs.finish(*asked, ends ? std::string{} : last);
}

json::value run_or_null(const std::optional<run_record>& run) {
    if (!run) return nullptr;
    return documents::json_of(*run);
}

json::object detail_of(const job_reading& job, const health_inputs& now) {
    auto document = json_of(job, now, runs_shown_max);
    json::array occurrences;
    if (!now.pauses.contains(job.entry.name))
        for (const auto at : job.terms->occurrences_after(now.now, occurrences_shown))
            occurrences.emplace_back(documents::time_text(at));
    document["next_occurrences"] = std::move(occurrences);
    json::array runs;
    for (std::size_t i = 0; i < std::min(runs_of_one, job.runs.size()); ++i)
        runs.push_back(documents::json_of(job.runs[i]));
    document["runs"] = std::move(runs);
    std::uint64_t newest = 0;
    for (const auto& one : job.runs) newest = std::max(newest, number(one.token));
    json::array parts;
    for (const auto& one : job.partitions) {
        json::object part;
        part["partition"] = one.partition;
        part["key"] = job.terms->key(one.partition);
        part["lock"] = nullptr;
        if (one.lock) part["lock"] = documents::json_of(*one.lock);
        part["run"] = run_or_null(one.active);
        part["last_run"] = run_or_null(one.last_run);
        if (one.lock) newest = std::max(newest, number(one.lock->last_token));
        parts.push_back(std::move(part));
    }
    document["partition_states"] = std::move(parts);
    document["fence_token"] = newest;
    document["as_of"] = documents::time_text(now.as_of);
    return document;
}

awaitable<http::response> show(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    auto finding = find_job(around, asked->path.at("name"));
    auto found = co_await std::move(finding);
    if (auto* fault = std::get_if<http::response>(&found)) co_return std::move(*fault);
    auto looking = look_at_job(around, std::move(std::get<job_entry>(found)));
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return problem_of(seen.error());
    co_return tagged_response(*asked, detail_of(seen->job, *seen->now), {"as_of"});
}

// -- to run

struct run_request {
    bool dry_run = false;
    bool resume = false;
    std::vector<std::string> arguments{};
    std::optional<std::int64_t> partition{};
};

std::optional<http::response> arguments_fault(const std::vector<std::string>& arguments) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto name = "args[" + std::to_string(i) + "]";
        if (arguments[i].size() > argument_length_max)
            return problem(400, name + " has " + std::to_string(arguments[i].size()) +
                                    " bytes; an argument has at most " +
                                    std::to_string(argument_length_max));
        if (arguments[i].find('\0') != std::string::npos)
            return problem(400, name + " holds a zero byte, which no command can be given");
        bytes += arguments[i].size();
    }
    if (bytes <= journals::argument_bytes_max) return std::nullopt;
    return problem(400, "args have " + std::to_string(bytes) + " bytes together; at most " +
                            std::to_string(journals::argument_bytes_max) + " are taken");
}

std::variant<run_request, http::response> request_from(const call& asked) {
    body_reader body{*asked.request, {"dry_run", "resume", "args", "partition"}};
    run_request request;
    request.dry_run = body.boolean("dry_run").value_or(false);
    request.resume = body.boolean("resume").value_or(false);
    request.arguments = body.texts("args", arguments_max).value_or(std::vector<std::string>{});
    request.partition = body.integer("partition", 0, UINT32_MAX);
    if (body.fault()) return *body.fault();
    if (auto fault = arguments_fault(request.arguments)) return std::move(*fault);
    return request;
}

std::vector<std::uint32_t> partitions_of(const documents::job_terms& job,
                                         const run_request& request) {
    if (request.partition) return {static_cast<std::uint32_t>(*request.partition)};
    std::vector<std::uint32_t> all(job.partitions);
    std::iota(all.begin(), all.end(), 0U);
    return all;
}

// The slot of the job's last checkpoint; nothing where none has been saved.
async<std::optional<std::uint32_t>> find_saved_slot(
    shared_context around, std::shared_ptr<const documents::job_terms> job) {
    const auto slot = std::make_shared<std::optional<std::uint32_t>>();
    run_filter which;
    which.job = job->name;
    row_visitor look = [slot, job](const run_record& run) {
        if (documents::has_saved(*job, run)) *slot = run.partition;
        return !*slot;
    };
    auto reading = visit_runs(around, std::move(which), page_limit_max, std::move(look));
    const auto read = co_await std::move(reading);
    if (read.has_error()) co_return read.error();
    co_return *slot;
}

// Each partition; of a job with slots the one slot that is to have the run.
async<std::vector<std::uint32_t>> choose_partitions(shared_context around,
                                                    std::shared_ptr<const documents::job_terms> job,
                                                    std::shared_ptr<const run_request> request) {
    if (request->partition || !job->has_slots) co_return partitions_of(*job, *request);
    auto looking = look_at_control(around);
    const auto look = co_await std::move(looking);
    if (look->has_error()) co_return look->error();
    documents::slot_inputs now{(*look)->seen.triggers};
    if (request->resume) {
        auto finding = find_saved_slot(around, job);
        const auto found = co_await std::move(finding);
        if (found.has_error()) co_return found.error();
        now.saved = *found;
    }
    std::vector<std::string> keys;
    for (const auto one : partitions_of(*job, *request)) keys.push_back(job->key(one));
    auto reading = read_locks(around, keys);
    const auto locks = co_await std::move(reading);
    for (const auto& key : keys) {
        const auto lock = locks->locks.find(key);
        now.taken.push_back(lock != locks->locks.end() && lock->second.remaining.count() > 0);
    }
    std::vector<std::uint32_t> chosen{documents::choose_slot(*job, now)};
    co_return chosen;
}

// The last checkpoint of each partition, among the newest runs of the job.
struct saved_checkpoints {
    std::unordered_map<std::uint32_t, std::string> of{};  // empty: none yet
    std::size_t bytes = 0;
    std::size_t missing = 0;

    // False where no more are wanted, or can be shown.
    bool add(run_record run) {
        const auto found = of.find(run.partition);
        if (found == of.end() || !found->second.empty() || run.checkpoint.empty()) return true;
        bytes += run.checkpoint.size();
        found->second = std::move(run.checkpoint);
        return --missing > 0 && bytes <= page_bytes_max;
    }
};

async<std::shared_ptr<saved_checkpoints>> read_saved(shared_context around, std::string job,
                                                     std::vector<std::uint32_t> partitions) {
    const auto found = std::make_shared<saved_checkpoints>();
    for (const auto one : partitions) found->of[one];
    found->missing = partitions.size();
    run_filter which;
    which.job = std::move(job);
    row_visitor look = [found](run_record run) { return found->add(std::move(run)); };
    auto reading = visit_runs(around, std::move(which), page_limit_max, std::move(look));
    const auto read = co_await std::move(reading);
    if (read.has_error()) co_return read.error();
    co_return found;
}

// Everything but the effect.
awaitable<http::response> show_what_would_run(shared_context around,
                                              std::shared_ptr<const documents::job_terms> job,
                                              std::shared_ptr<const run_request> request) {
    auto choosing = choose_partitions(around, job, request);
    const auto partitions = co_await std::move(choosing);
    if (partitions.has_error()) co_return problem_of(partitions.error());
    auto listing = around->records->list_nodes();
    const auto nodes = co_await std::move(listing);
    if (nodes.has_error()) co_return problem_of(nodes.error());
    auto saved = std::make_shared<saved_checkpoints>();
    if (request->resume) {
        auto finding = read_saved(around, job->name, *partitions);
        auto found = co_await std::move(finding);
        if (found.has_error()) co_return problem_of(found.error());
        saved = std::move(*found);
    }
    if (saved->bytes > page_bytes_max)
        co_return problem(409, "the last checkpoints of the partitions have more than " +
                                   std::to_string(page_bytes_max) +
                                   " bytes together; name one with partition");
    std::vector<std::string> keys;
    keys.reserve(partitions->size());
    for (const auto one : *partitions) keys.push_back(job->key(one));
    auto looking = read_locks(around, std::move(keys));
    const auto locks = co_await std::move(looking);
    if (!locks->trouble.empty()) co_return problem_of(failure{errc::unreachable, locks->trouble});
    std::vector<documents::planned_run> planned;
    for (const auto one : *partitions) {
        documents::planned_run next;
        next.partition = one;
        const auto lock = locks->locks.find(job->key(one));
        if (lock != locks->locks.end()) next.lease = lock->second;
        if (request->resume) next.checkpoint = std::move(saved->of[one]);
        planned.push_back(std::move(next));
    }
    co_return json_response(200, documents::dry_run_of(*job, request->arguments,
                                                       documents::count_live(*nodes), planned));
}

struct queued_runs {
    std::vector<std::string> ids{};
    std::size_t wanted = 0;
    std::optional<failure> trouble{};  // behind those
    bool is_last_sure = true;          // the last of the ids is queued for sure
    std::string rejected{};            // one line; nothing is queued then
};

// Each is asked for by itself. Of requests with arguments one at a time, so that each counts the
// bytes of those before it.
awaitable<queued_runs> queue_runs(shared_context around, std::string user,
                                  std::shared_ptr<const documents::job_terms> job,
                                  std::shared_ptr<const run_request> request) {
    queued_runs made;
    fair_semaphore::turn turn;
    if (!request->arguments.empty()) {
        auto entering = fair_semaphore::enter(around->remembered->queuing, user);
        turn = co_await std::move(entering);
    }
    auto choosing = choose_partitions(around, job, request);
    const auto partitions = co_await std::move(choosing);
    if (partitions.has_error()) {
        made.trouble = partitions.error();
        co_return made;
    }
    auto looking = look_at_control(around);
    auto look = co_await std::move(looking);
    if (look->has_error()) {
        made.trouble = look->error();
        co_return made;
    }
    made.wanted = partitions->size();
    const journals::queue_size wanted{partitions->size(),
                                      partitions->size() * journals::bytes_of(request->arguments)};
    if (auto full =
            journals::request_fault((*look)->queued, (*look)->queued_of_job(job->name), wanted)) {
        made.rejected = std::move(*full);
        co_return made;
    }
    look.reset();
    for (const auto partition : *partitions) {
        run_trigger what;
        what.id = base::fresh_uuid();
        what.job = job->name;
        what.partition = partition;
        what.arguments = request->arguments;
        what.starts_from =
            request->resume ? checkpoint_source::last_saved : checkpoint_source::none;
        what.by = user;
        auto adding = runtime::make_change(
            [records = around->records, what] { return records->add_trigger(what); });
        const auto added = co_await std::move(adding);
        if (added.has_error()) {
            made.trouble = added.error();
            co_return made;
        }
        made.ids.push_back(std::move(what.id));
        if (*added == runtime::change_effect::unknown) {
            made.is_last_sure = false;
            made.trouble = failure{errc::outcome_unknown,
                                   "the journal did not say whether the last was queued"};
            co_return made;
        }
    }
    co_return made;
}

// Where some cannot be queued, the answer names those that were.
awaitable<http::response> ask_for(shared_context around, shared_call asked,
                                  std::shared_ptr<const documents::job_terms> job,
                                  std::shared_ptr<const run_request> request) {
    auto queuing = queue_runs(around, asked->who.name, job, request);
    const auto queued = co_await std::move(queuing);
    if (!queued.rejected.empty()) co_return problem(409, queued.rejected);
    if (queued.trouble && queued.ids.empty()) co_return problem_of(*queued.trouble);
    json::array ids(queued.ids.begin(), queued.ids.end());
    const auto past = request->resume ? checkpoint_source::last_saved : checkpoint_source::none;
    const documents::queued_count count{queued.ids.size(), queued.wanted, queued.is_last_sure};
    auto words =
        documents::words_of_queued(count, documents::words_of_request(past, request->arguments));
    auto telling = audit_change(around, asked, "job.run", job->name, std::move(words));
    co_await std::move(telling);
    if (queued.trouble) {
        json::object more;
        more["ids"] = std::move(ids);
        // Without Retry-After: the same request again would queue other runs.
        co_return problem(
            503,
            count.wanted > 1
                ? "only some partitions were queued, see ids: " + queued.trouble->detail
                : "the journal did not say whether the run was queued: look at the run in ids",
            std::move(more));
    }
    json::object document;
    document["job"] = job->name;
    document["ids"] = std::move(ids);
    co_return json_response(202, document);
}

awaitable<http::response> run(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    auto read = request_from(*asked);
    if (auto* fault = std::get_if<http::response>(&read)) co_return std::move(*fault);
    const auto request =
        std::make_shared<const run_request>(std::move(std::get<run_request>(read)));
    auto finding = find_job(around, asked->path.at("name"));
    auto found = co_await std::move(finding);
    if (auto* fault = std::get_if<http::response>(&found)) co_return std::move(*fault);
    const auto job = terms_of(*around, std::get<job_entry>(found));
    const auto shown = "'" + base::printable(job->name) + "'";
    if (request->partition && *request->partition >= job->partitions)
        co_return problem(400, "partition is " + std::to_string(*request->partition) +
                                   "; the job " + shown + " has " +
                                   (job->has_slots ? "slots" : "partitions") + " 0 to " +
                                   std::to_string(job->partitions - 1));
    if (auto fault = base::argument_fault(job->arguments, job->name, request->arguments))
        co_return problem(403, *fault);
    if (request->dry_run) {
        auto showing = show_what_would_run(around, job, request);
        auto made = co_await std::move(showing);
        co_return made;
    }
    if (!job->enabled)
        co_return problem(409,
                          "job " + shown + " is not enabled in its configuration: it never runs");
    if (auto fault = changes_fault(*around, *asked)) co_return std::move(*fault);
    auto asking = ask_for(around, asked, job, request);
    auto made = co_await std::move(asking);
    co_return made;
}

// -- to pause and resume

std::string told_of(runtime::change_effect done, std::string reason) {
    return done == runtime::change_effect::made ? reason : documents::in_doubt(std::move(reason));
}

http::response paused_response(const std::string& name, bool paused, bool changed) {
    json::object document;
    document["name"] = name;
    document["paused"] = paused;
    document["changed"] = changed;
    return json_response(200, document);
}

awaitable<http::response> pause(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    body_reader body{*asked->request, {"reason"}};
    const auto reason = body.required_text("reason");
    if (body.fault()) co_return *body.fault();
    if (const auto fault = documents::reason_fault(reason)) co_return problem(400, *fault);
    auto finding = find_job(around, asked->path.at("name"));
    auto found = co_await std::move(finding);
    if (auto* fault = std::get_if<http::response>(&found)) co_return std::move(*fault);
    const auto name = std::get<job_entry>(found).name;
    auto looking = look_at_control(around);
    auto look = co_await std::move(looking);
    if (look->has_error()) co_return problem_of(look->error());
    if (const auto full = journals::pause_fault((*look)->seen, name)) co_return problem(409, *full);
    look.reset();
    if (auto fault = changes_fault(*around, *asked)) co_return std::move(*fault);
    auto pausing =
        runtime::make_change([records = around->records, name, reason, user = asked->who.name] {
            return records->pause_job(name, reason, user);
        });
    const auto done = co_await std::move(pausing);
    if (done.has_error()) co_return problem_of(done.error());
    if (*done == runtime::change_effect::none) co_return paused_response(name, true, false);
    auto telling = audit_change(around, asked, "job.pause", name, told_of(*done, reason));
    co_await std::move(telling);
    if (*done == runtime::change_effect::unknown)
        co_return unknown_outcome("the journal did not say whether the job '" +
                                  base::printable(name) + "' was paused: look again");
    co_return paused_response(name, true, true);
}

awaitable<http::response> resume(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    body_reader body{*asked->request, {"reason"}};
    const auto reason = body.text("reason");
    if (body.fault()) co_return *body.fault();
    if (reason)
        if (const auto fault = documents::reason_fault(*reason)) co_return problem(400, *fault);
    const auto name = asked->path.at("name");
    if (auto fault = changes_fault(*around, *asked)) co_return std::move(*fault);
    // Of a job that no agent has any more as well: its pause would wait for it for ever.
    auto resuming = runtime::make_change(
        [records = around->records, name] { return records->resume_job(name); });
    const auto done = co_await std::move(resuming);
    if (done.has_error()) co_return problem_of(done.error());
    if (*done == runtime::change_effect::none) {
        auto finding = find_job(around, name);
        auto found = co_await std::move(finding);
        if (auto* fault = std::get_if<http::response>(&found)) co_return std::move(*fault);
        co_return paused_response(name, false, false);
    }
    auto telling =
        audit_change(around, asked, "job.resume", name, told_of(*done, reason.value_or("")));
    co_await std::move(telling);
    if (*done == runtime::change_effect::unknown)
        co_return unknown_outcome("the journal did not say whether the job '" +
                                  base::printable(name) + "' was resumed: look again");
    co_return paused_response(name, false, true);
}

}  // namespace

routes job_routes(shared_context around) {
    const auto one = [&](std::string method, std::string pattern, access needs, auto answer) {
        return route{std::move(method), std::move(pattern), needs, with_journal(around, answer)};
    };
    routes all;
    // What those that change something look at costs as much as a list.
    for (auto& shown : {one("GET", "/api/v1/jobs", access::viewer, list),
                        one("GET", "/api/v1/jobs/{name}", access::viewer, show),
                        one("POST", "/api/v1/jobs/{name}/runs", access::operator_, run),
                        one("POST", "/api/v1/jobs/{name}/pause", access::operator_, pause),
                        one("POST", "/api/v1/jobs/{name}/resume", access::operator_, resume)}) {
        all.push_back(shown);
        all.back().costs = cost::much;
    }
    return all;
}

}  // namespace pawl::api
