#include "api/jobs/run_routes.hpp"

#include "api/jobs/control_look.hpp"
#include "api/jobs/run_output.hpp"
#include "api/request/journal_need.hpp"
#include "api/request/json_body.hpp"
#include "api/request/list_writer.hpp"
#include "api/request/problem.hpp"
#include "api/request/query_parameters.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"
#include "documents/reason.hpp"
#include "runtime/change_effect.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace pawl::api {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;
using runtime::change_effect;

constexpr std::chrono::seconds full_retry{5};
// Each may have a checkpoint of 64 KiB: how many are read at once follows from those before.
constexpr std::size_t runs_read_first = 25;
constexpr std::size_t runs_read_most = 250;
// Beyond it an offset is no place in any output; see journals::output_bytes_max.
constexpr std::int64_t offset_max = std::int64_t{1} << 53;

std::string quoted(std::string_view id) { return "'" + base::printable(id) + "'"; }

// -- lists

std::variant<run_filter, http::response> filter_of(const call& asked) {
    run_filter which;
    const auto text = [&](const char* name) -> std::optional<std::string> {
        const auto found = asked.query.find(name);
        if (found == asked.query.end() || found->second.empty()) return std::nullopt;
        return found->second;
    };
    which.job = text("job");
    which.node = text("node");
    const auto status = text("status");
    if (!status) return which;
    which.status = run_status_named(*status);
    if (which.status) return which;
    return problem(400, "status is " + quoted(*status) +
                            ", which is none of started, completed, failed, cancelled, lost, "
                            "timed_out, abandoned, skipped");
}

std::size_t runs_to_read(const list_writer& page) {
    if (page.size() == 0) return runs_read_first;
    return std::clamp<std::size_t>(page.room() / page.bytes_of_one(), 1, runs_read_most);
}

awaitable<http::response> list(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {"job", "status", "node", "after", "limit"}))
        co_return std::move(*fault);
    auto request = page_of(*asked);
    if (auto* fault = std::get_if<http::response>(&request)) co_return std::move(*fault);
    auto which = filter_of(*asked);
    if (auto* fault = std::get_if<http::response>(&which)) co_return std::move(*fault);
    const auto& page = std::get<page_request>(request);
    list_writer runs{around->core->loop(), "runs", documents::now_text()};
    auto next = page.after;
    do {
        const auto some = std::min(runs_to_read(runs), page.limit - runs.size());
        auto listing = around->records->list_runs(std::get<run_filter>(which), next, some);
        const auto found = co_await std::move(listing);
        if (found.has_error()) co_return problem_of_page(found.error(), next);
        for (const auto& one : found->records) {
            runs.add(documents::json_of(one));
            if (!runs.turn_is_over()) continue;
            auto turning = runs.give_turn();
            co_await std::move(turning);
        }
        next = found->next;
    } while (!next.empty() && runs.size() < page.limit && !runs.is_full());
    co_return runs.finish(*asked, next);
}

// -- one run

// Without its arguments.
awaitable<result<std::optional<run_trigger>>> asked_for(shared_context around, std::string id) {
    auto looking = look_at_control(around);
    const auto look = co_await std::move(looking);
    if (look->has_error()) co_return look->error();
    const auto& all = (*look)->seen.triggers;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const run_trigger& one) { return one.id == id; });
    if (found == all.end()) co_return std::optional<run_trigger>{};
    co_return std::optional<run_trigger>{*found};
}

// 404, which says when it only has not begun.
awaitable<http::response> no_such_run(shared_context around, std::string id) {
    auto asking = asked_for(around, id);
    const auto waiting = co_await std::move(asking);
    if (waiting.has_error()) co_return problem_of(waiting.error());
    if (!*waiting) co_return problem(404, "run " + quoted(id) + " not found; see /api/v1/runs");
    json::object more;
    more["job"] = (*waiting)->job;
    more["asked_at"] = documents::time_text((*waiting)->at);
    co_return problem(404,
                      "run " + quoted(id) + " of " + quoted((*waiting)->job) +
                          " is queued: it waits for an agent, or its lock",
                      std::move(more));
}

// Or why there is none to be told of.
awaitable<std::variant<run_record, http::response>> found_run(shared_context around,
                                                              std::string id) {
    auto finding = around->records->find_run(id);
    auto run = co_await std::move(finding);
    if (run.has_error()) co_return problem_of(run.error());
    if (*run) co_return std::move(**run);
    auto rejecting = no_such_run(around, std::move(id));
    co_return co_await std::move(rejecting);
}

awaitable<http::response> show(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    const auto id = asked->path.at("id");
    const auto as_of = documents::now_text();
    auto finding = found_run(around, id);
    auto found = co_await std::move(finding);
    if (auto* rejected = std::get_if<http::response>(&found)) co_return std::move(*rejected);
    const auto& run = std::get<run_record>(found);
    auto reading = around->records->history(id);
    const auto history = co_await std::move(reading);
    if (history.has_error()) co_return problem_of(history.error());
    auto document = documents::json_of(run, *history);
    document["as_of"] = as_of;
    co_return tagged_response(*asked, document, {"as_of"});
}

// -- its output

bool wants_events(const http::request& request) {
    return request.find("accept").find("text/event-stream") != std::string_view::npos;
}

// Where a follower that was cut off continues; what is no number of ours is not its place.
std::uint64_t follow_from(const http::request& request, std::int64_t offset) {
    const auto last = request.find("last-event-id");
    const auto place = base::parse_number_within<std::uint64_t>(last, 0, offset_max);
    return place.value_or(static_cast<std::uint64_t>(offset));
}

http::response full(user_quota::full why, const std::string& user) {
    if (why == user_quota::full::of_user)
        return too_many("user " + quoted(user) + " follows " +
                            std::to_string(followers_of_user_max) +
                            " outputs already; close one of them, or read by parts",
                        full_retry);
    auto made = problem(503, "there are " + std::to_string(followers_max) +
                                 " followers already; try again later, or read by parts");
    made.set("Retry-After", std::to_string(full_retry.count()));
    return made;
}

// A run that has not begun may be followed as well: what it writes comes when it does.
awaitable<http::response> follow(shared_context around, std::shared_ptr<run_output> outputs,
                                 shared_call asked, std::int64_t offset) {
    const auto id = asked->path.at("id");
    // Taken before anything is waited for, so that many who come at once are counted as well.
    auto taken = outputs->take_place(asked->who.name);
    if (const auto* why = std::get_if<user_quota::full>(&taken))
        co_return full(*why, asked->who.name);
    auto finding = around->records->find_run(id);
    const auto run = co_await std::move(finding);
    if (run.has_error()) co_return problem_of(run.error());
    if (!*run) {
        auto asking = asked_for(around, id);
        const auto waiting = co_await std::move(asking);
        if (waiting.has_error() || !*waiting) {
            auto rejecting = no_such_run(around, id);
            auto rejected = co_await std::move(rejecting);
            co_return rejected;
        }
    }
    const auto from = follow_from(*asked->request, offset);
    http::response made{200};
    made.set("Content-Type", "text/event-stream");
    made.set("Cache-Control", "no-store");
    made.stream = [outputs, id, from, place = std::get<user_quota::permit>(taken)](
                      std::shared_ptr<http::body_stream> where) {
        return run_output::follow(outputs, id, from, std::move(where));
    };
    co_return made;
}

awaitable<http::response> read_part(shared_context around, std::shared_ptr<run_output> outputs,
                                    std::string id, std::int64_t offset) {
    auto reading = run_output::read(outputs, id, static_cast<std::uint64_t>(offset));
    auto part = co_await std::move(reading);
    if (part.has_error()) co_return problem_of(part.error());
    if (!*part) {
        auto rejecting = no_such_run(around, std::move(id));
        auto rejected = co_await std::move(rejecting);
        co_return rejected;
    }
    // Bytes as they were written, whatever they are.
    http::response made{200, "text/plain; charset=utf-8", std::move((*part)->bytes)};
    made.set("X-Pawl-Output-Offset", std::to_string((*part)->offset));
    made.set("X-Pawl-Output-Size", std::to_string((*part)->size));
    made.set("Cache-Control", "no-store");
    co_return made;
}

awaitable<http::response> output(shared_context around, std::shared_ptr<run_output> outputs,
                                 shared_call asked) {
    if (auto fault = query_fault(*asked, {"offset"})) co_return std::move(*fault);
    auto offset = integer_of(*asked, "offset", 0, offset_max, 0);
    if (auto* fault = std::get_if<http::response>(&offset)) co_return std::move(*fault);
    const auto from = std::get<std::int64_t>(offset);
    auto answering = wants_events(*asked->request)
                         ? follow(around, outputs, asked, from)
                         : read_part(around, outputs, asked->path.at("id"), from);
    auto made = co_await std::move(answering);
    co_return made;
}

// -- to cancel it

http::response cancelled(const std::string& id, const std::string& job, bool withdrawn,
                         run_status status) {
    json::object document;
    document["id"] = id;
    document["job"] = job;
    document["cancel_requested"] = true;
    document["withdrawn"] = withdrawn;
    document["run_status"] = name_of(status);
    return json_response(202, document);
}

http::response over_already(const run_record& run) {
    json::object more;
    more["run_status"] = name_of(run.status);
    return problem(
        409, "run " + quoted(run.id) + " is over already: " + std::string{name_of(run.status)},
        std::move(more));
}

http::response unknown_cancel(const std::string& id) {
    return unknown_outcome("the journal did not say whether the run " + quoted(id) +
                           " was cancelled: look again");
}

awaitable<http::response> cancel(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    body_reader body{*asked->request, {"reason"}};
    const auto given = body.text("reason");
    if (body.fault()) co_return *body.fault();
    if (given)
        if (const auto fault = documents::reason_fault(*given)) co_return problem(400, *fault);
    const auto reason = given.value_or("");
    if (auto fault = changes_fault(*around, *asked)) co_return std::move(*fault);
    const auto id = asked->path.at("id");
    auto asking = asked_for(around, id);
    const auto waiting = co_await std::move(asking);
    if (waiting.has_error()) co_return problem_of(waiting.error());
    if (*waiting) {
        const auto job = (*waiting)->job;
        auto removing = runtime::make_change(
            [records = around->records, id] { return records->remove_trigger(id); });
        const auto removed = co_await std::move(removing);
        if (removed.has_error()) co_return problem_of(removed.error());
        bool is_withdrawn = *removed == change_effect::made;
        bool is_known = *removed != change_effect::unknown;
        if (*removed == change_effect::settled) {
            // Gone since it was looked at: withdrawn, or begun by an agent.
            auto finding = around->records->find_run(id);
            const auto begun = co_await std::move(finding);
            is_known = begun.has_value();
            is_withdrawn = is_known && !*begun;
        }
        if (is_withdrawn || !is_known) {
            auto words = documents::cancel_words(job, reason);
            if (*removed != change_effect::made) words = documents::in_doubt(std::move(words));
            auto telling = audit_change(around, asked, "run.cancel", id, std::move(words));
            co_await std::move(telling);
            if (!is_known) co_return unknown_cancel(id);
            co_return cancelled(id, job, true, run_status::cancelled);
        }
    }
    auto finding = found_run(around, id);
    auto found = co_await std::move(finding);
    if (auto* rejected = std::get_if<http::response>(&found)) co_return std::move(*rejected);
    const auto& run = std::get<run_record>(found);
    if (is_finished(run.status)) co_return over_already(run);
    auto words = documents::cancel_words(asked->who.name, reason);
    auto requesting = runtime::make_change(
        [records = around->records, id, words] { return records->request_cancel(id, words); });
    const auto done = co_await std::move(requesting);
    if (done.has_error()) co_return problem_of(done.error());
    auto detail = documents::cancel_words(run.job, reason);
    if (*done == change_effect::settled || *done == change_effect::unknown)
        detail = documents::in_doubt(std::move(detail));
    if (*done != change_effect::none) {
        auto telling = audit_change(around, asked, "run.cancel", id, std::move(detail));
        co_await std::move(telling);
    }
    if (*done == change_effect::unknown) co_return unknown_cancel(id);
    if (*done != change_effect::made) {
        // It may have ended since it was found.
        auto again = around->records->find_run(id);
        const auto ended = co_await std::move(again);
        co_return over_already(ended.has_value() && *ended ? **ended : run);
    }
    auto status = run.status;
    if (status == run_status::abandoned) {
        // No runner has it, so it is over at once.
        auto again = around->records->find_run(id);
        const auto row = co_await std::move(again);
        if (row.has_value() && *row) status = (*row)->status;
    }
    co_return cancelled(id, run.job, false, status);
}

}  // namespace

routes run_routes(shared_context around) {
    const auto outputs = std::make_shared<run_output>(around);
    const auto get = [&](std::string pattern, auto answer) {
        return route{"GET", std::move(pattern), access::viewer, with_journal(around, answer),
                     cost::much};
    };
    routes all;
    all.push_back(get("/api/v1/runs", list));
    all.push_back(get("/api/v1/runs/{id}", show));
    all.push_back(
        get("/api/v1/runs/{id}/output", [outputs](shared_context where, shared_call asked) {
            return output(std::move(where), outputs, std::move(asked));
        }));
    all.push_back(
        route{"POST", "/api/v1/runs/{id}/cancel", access::operator_, with_journal(around, cancel)});
    return all;
}

}  // namespace pawl::api
