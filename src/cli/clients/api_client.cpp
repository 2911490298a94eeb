// The client that asks an agent's API.
#include "base/number.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/output/output.hpp"
#include "client/events.hpp"
#include "client/exchange.hpp"
#include "documents/reading.hpp"
#include "time/pause.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace pawl::cli {
namespace {

namespace json = boost::json;
using base::percent_encode;

constexpr std::size_t token_bytes_max = 1024;
// A stream that broke is taken up again; after so many attempts in a row without an event no more.
constexpr int fruitless_attempts_max = 3;
constexpr millis attempt_interval{500};
constexpr std::string_view problem_type = "application/problem+json";

std::optional<std::string> environment(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

template <class T>
T taken(const result<T>& read) {
    return read.value();
}

json::value parsed(const pawl::client::address& where, std::string_view body) {
    boost::system::error_code error;
    auto made = json::parse(body, error);
    if (error)
        throw store_error{{errc::protocol, pawl::client::text_of(where) +
                                               ": the answer is not JSON: " + error.message()}};
    return made;
}

std::uint64_t number_in(const pawl::client::answer& from, std::string_view field) {
    const auto value = base::parse_number<std::uint64_t>(from.find(field));
    if (!value)
        throw store_error{
            {errc::protocol, "the answer has no " + std::string{field} + ", or none that counts"}};
    return *value;
}

// `conflict` is what 409 means to the one who asked.
status status_of(const pawl::client::answer& from, status conflict) {
    switch (from.status) {
        case 401:
        case 403:
            return status::rejected;
        case 429:
            return status::unavailable;
        case 409:
            return conflict;
        case 410:
            return status::already_done;
        case 501:
        case 502:
            return status::configuration;
        case 503:
            return from.find("retry-after").empty() ? status::io_error : status::unavailable;
        default:
            return from.status >= 500 ? status::unavailable : status::usage;
    }
}

class api_client final : public client {
public:
    api_client(pawl::client::address where, std::string token)
        : caller_{std::move(where), std::move(token)} {}

    page list_locks(const std::string& prefix, const std::string& after,
                    std::size_t limit) override;
    std::optional<record> find_lock(const std::string& key) override;
    millis release(const forced_release& what) override;
    fence_result check_fence(const std::string& resource, fence_token token,
                             fence_rule rule) override;

    std::vector<json::object> list_jobs() override;
    seen_job show_job(const std::string& name, std::size_t runs) override;
    json::object dry_run(const run_request& what) override;
    std::vector<std::string> ask_for_runs(const run_request& what) override;
    bool pause_job(const std::string& name, const std::string& reason) override;
    bool resume_job(const std::string& name) override;

    run_page list_runs(const run_filter& which, const std::string& after,
                       std::size_t limit) override;
    seen_run look_for_run(const std::string& id) override;
    run_details show_run(const std::string& id) override;
    void read_output(const std::string& id, reading how, const output_taker& into) override;
    cancelled_run cancel_run(const std::string& id, const std::string& reason) override;

    std::vector<node_entry> list_nodes() override;
    std::vector<audit_entry> list_audit(std::uint64_t before, std::size_t limit) override;
    json::object examine(const health::doctor_bounds& bounds) override;

private:
    pawl::client::answer ask(const pawl::client::question& what);
    json::value got(const std::string& target);
    json::value posted(const std::string& target, const json::object& body,
                       status conflict = status::usage);
    [[noreturn]] void reject(const pawl::client::answer& from,
                             status conflict = status::usage) const;
    std::string foreign(const pawl::client::answer& from) const;

    void read_parts(const std::string& path, const output_taker& into);
    enum class stream_end { over, broken };
    stream_end follow(const std::string& path, const output_taker& into, std::uint64_t& offset,
                      bool& fruitful);
    bool take_event(const pawl::client::event& one, const output_taker& into,
                    std::uint64_t& offset);

    pawl::client::caller caller_;
};

// -- questions and answers

pawl::client::answer api_client::ask(const pawl::client::question& what) {
    auto made = caller_.ask(what);
    return std::move(made).value();
}

// What is no problem of an agent's comes from another server.
std::string api_client::foreign(const pawl::client::answer& from) const {
    const auto place = pawl::client::text_of(caller_.where()) + ": ";
    if (from.status >= 300 && from.status < 400)
        return place + "the answer leads elsewhere, to '" + base::printable(from.find("location")) +
               "', and is not followed: give the URL of the agent itself";
    return place + "the answer, status " + std::to_string(from.status) +
           ", is not one of an agent's API";
}

// The agent names its routes; people here have commands, and are told as the store tells them.
std::string told_to_people(std::string detail) {
    constexpr std::string_view route = "see /api/v1/";
    const auto at = detail.rfind(route);
    if (at == std::string::npos) return detail;
    const auto what = detail.substr(at + route.size());
    if (what == "runs" || what == "jobs" || what == "locks")
        detail.replace(at, std::string::npos, "see 'pawl " + what + " ls'");
    return detail;
}

void api_client::reject(const pawl::client::answer& from, status conflict) const {
    std::string detail;
    auto outcome = status_of(from, conflict);
    if (from.find("content-type").starts_with(problem_type)) {
        boost::system::error_code error;
        const auto document = json::parse(from.body, error);
        const auto* members = error ? nullptr : document.if_object();
        const auto* told = members == nullptr ? nullptr : members->if_contains("detail");
        if (told != nullptr && told->is_string())
            detail = base::printable(std::string_view{told->as_string()});
        // What was done in part is not to be asked for again, so no time to do so is told.
        if (from.status == 503 && members != nullptr && members->contains("ids"))
            outcome = status::unavailable;
    }
    if (detail.empty()) throw exit_error{status::configuration, foreign(from)};
    if (from.status == 401 && !caller_.has_token()) detail += " (PAWL_TOKEN is not set)";
    throw exit_error{outcome, told_to_people(std::move(detail))};
}

json::value api_client::got(const std::string& target) {
    pawl::client::question what;
    what.target = target;
    const auto made = ask(what);
    if (made.status != 200) reject(made);
    return parsed(caller_.where(), made.body);
}

json::value api_client::posted(const std::string& target, const json::object& body,
                               status conflict) {
    pawl::client::question what;
    what.method = "POST";
    what.target = target;
    what.body = json::serialize(body);
    const auto made = ask(what);
    if (made.status != 200 && made.status != 202) reject(made, conflict);
    return parsed(caller_.where(), made.body);
}

std::string page_query(const std::string& after, std::size_t limit) {
    return "?limit=" + std::to_string(limit) +
           (after.empty() ? "" : "&after=" + percent_encode(after));
}

// -- locks

page api_client::list_locks(const std::string& prefix, const std::string& after,
                            std::size_t limit) {
    const auto document = got("/api/v1/locks" + page_query(after, limit) +
                              (prefix.empty() ? "" : "&prefix=" + percent_encode(prefix)));
    documents::member_reader read{document, "the list of locks"};
    page made;
    for (const auto& one : read.list("locks"))
        made.records.push_back(taken(documents::lock_of(one)));
    made.next = read.text("next");
    if (read.fault()) throw store_error{*read.fault()};
    return made;
}

std::optional<record> api_client::find_lock(const std::string& key) {
    pawl::client::question what;
    what.target = "/api/v1/locks/" + percent_encode(key);
    const auto made = ask(what);
    // Only an agent may say that there is none.
    if (made.status == 404 && made.find("content-type").starts_with(problem_type))
        return std::nullopt;
    if (made.status != 200) reject(made);
    return taken(documents::lock_of(parsed(caller_.where(), made.body)));
}

millis api_client::release(const forced_release& what) {
    if (what.delay && what.delay->count() != 0)
        throw exit_error{status::usage,
                         "--delay needs the store itself, by --store: an agent waits for what is "
                         "left of the lease, or with --now not at all"};
    json::object body;
    body["key"] = what.shown.key;
    body["fence_token"] = number(documents::releasable(what.shown));
    body["reason"] = what.reason;
    body["now"] = what.delay.has_value();
    const auto made = posted("/api/v1/locks/release", body, status::rejected);
    log(log_level::warn, documents::force_release_line(what.shown, what.reason));
    documents::member_reader read{made, "the release"};
    const millis left{read.integer("free_in_ms", 0, millis::max().count())};
    if (read.fault()) throw store_error{*read.fault()};
    return left;
}

fence_result api_client::check_fence(const std::string& resource, fence_token token,
                                     fence_rule rule) {
    json::object body;
    body["fence_token"] = number(token);
    body["rule"] = rule == fence_rule::reject_older ? "reject_older" : "reject_not_newer";
    pawl::client::question what;
    what.method = "POST";
    what.target = "/api/v1/fences/" + percent_encode(resource);
    what.body = json::serialize(body);
    const auto made = ask(what);
    // The highest accepted is this one, or a newer one that the API does not name.
    if (made.status == 204) return {true, token};
    if (made.status != 409 && made.status != 400) reject(made);
    if (!made.find("content-type").starts_with(problem_type)) reject(made);
    const auto told = parsed(caller_.where(), made.body);
    if (made.status == 400) {
        const auto* never =
            told.is_object() ? told.get_object().if_contains("never_issued") : nullptr;
        if (never == nullptr || !never->is_bool() || !never->get_bool()) reject(made);
    }
    documents::member_reader read{told, "the rejection"};
    fence_result rejected{false, fence_token{read.token("newest")}};
    if (read.fault()) reject(made, status::rejected);
    rejected.never_issued = made.status == 400;
    return rejected;
}

// -- jobs

// What a command prints of a job is read once, so that it is of the right type; the rest goes as it
// is.
json::object document_of(const json::value& from) {
    taken(documents::job_of(from));
    const documents::member_reader read{from, "a job"};
    if (const auto* pause = read.find("paused")) taken(documents::pause_of(*pause, ""));
    if (const auto* last = read.find("last_run")) taken(documents::run_of(*last));
    auto made = from.as_object();
    for (const std::string_view extra :
         {"recent", "next_occurrences", "runs", "partition_states", "fence_token", "as_of"})
        if (const auto found = made.find(extra); found != made.end()) made.stable_erase(found);
    return made;
}

std::vector<json::object> api_client::list_jobs() {
    std::vector<json::object> all;
    std::string after;
    do {
        const auto document = got("/api/v1/jobs" + page_query(after, page_limit_max));
        documents::member_reader read{document, "the list of jobs"};
        for (const auto& one : read.list("jobs")) all.push_back(document_of(one));
        after = read.text("next");
        if (read.fault()) throw store_error{*read.fault()};
    } while (!after.empty());
    return all;
}

seen_job api_client::show_job(const std::string& name, std::size_t runs) {
    const auto document = got("/api/v1/jobs/" + percent_encode(name));
    seen_job made;
    made.document = document_of(document);
    documents::member_reader read{document, "a job"};
    for (const auto& one : read.list("runs")) {
        if (made.runs.size() == runs) break;
        made.runs.push_back(taken(documents::run_of(one)));
    }
    if (read.fault()) throw store_error{*read.fault()};
    return made;
}

json::object body_of(const run_request& what) {
    json::object body;
    body["resume"] = what.resume;
    json::array arguments;
    for (const auto& one : what.arguments) arguments.emplace_back(one);
    body["args"] = std::move(arguments);
    if (what.partition) body["partition"] = *what.partition;
    return body;
}

json::object api_client::dry_run(const run_request& what) {
    auto body = body_of(what);
    body["dry_run"] = true;
    auto made = posted("/api/v1/jobs/" + percent_encode(what.job) + "/runs", body);
    documents::member_reader read{made, "the dry run"};
    read.list("command");
    read.integer("live_nodes", 0, INT64_MAX);
    for (const auto& one : read.list("runs")) {
        documents::member_reader run{one, "a run of the dry run"};
        run.text("key");
        run.text("checkpoint");
        if (run.fault()) throw store_error{*run.fault()};
        if (const auto* lease = run.find("lease")) taken(documents::lock_of(*lease));
    }
    const auto* definition = read.find("definition");
    if (read.fault()) throw store_error{*read.fault()};
    if (definition == nullptr || !definition->is_object() || !made.as_object().contains("runs"))
        throw store_error{{errc::protocol, "'definition' of the dry run must be an object"}};
    return std::move(made.as_object());
}

std::vector<std::string> ids_in(const json::value& document) {
    documents::member_reader read{document, "the response"};
    std::vector<std::string> ids;
    for (const auto& one : read.list("ids"))
        // A server that only says that it is an agent may send anything.
        if (one.is_string()) ids.push_back(base::printable(one.as_string()));
    if (read.fault()) throw store_error{*read.fault()};
    return ids;
}

std::vector<std::string> api_client::ask_for_runs(const run_request& what) {
    pawl::client::question post;
    post.method = "POST";
    post.target = "/api/v1/jobs/" + percent_encode(what.job) + "/runs";
    post.body = json::serialize(body_of(what));
    const auto made = ask(post);
    if (made.status == 503 && made.find("content-type").starts_with(problem_type)) {
        const auto told = parsed(caller_.where(), made.body);
        const documents::member_reader read{told, "the rejection"};
        if (read.find("ids") != nullptr) tell_queued_in_part(ids_in(told));
    }
    if (made.status != 200 && made.status != 202) reject(made);
    return ids_in(parsed(caller_.where(), made.body));
}

bool changed_in(const json::value& from) {
    documents::member_reader read{from, "the answer"};
    const bool changed = read.flag("changed");
    if (read.fault()) throw store_error{*read.fault()};
    return changed;
}

bool api_client::pause_job(const std::string& name, const std::string& reason) {
    json::object body;
    body["reason"] = reason;
    return changed_in(posted("/api/v1/jobs/" + percent_encode(name) + "/pause", body));
}

bool api_client::resume_job(const std::string& name) {
    return changed_in(posted("/api/v1/jobs/" + percent_encode(name) + "/resume", json::object{}));
}

// -- runs

run_page api_client::list_runs(const run_filter& which, const std::string& after,
                               std::size_t limit) {
    auto target = "/api/v1/runs" + page_query(after, limit);
    if (which.job) target += "&job=" + percent_encode(*which.job);
    if (which.node) target += "&node=" + percent_encode(*which.node);
    if (which.status) target += "&status=" + std::string{name_of(*which.status)};
    const auto document = got(target);
    documents::member_reader read{document, "the list of runs"};
    run_page made;
    for (const auto& one : read.list("runs")) made.records.push_back(taken(documents::run_of(one)));
    made.next = read.text("next");
    if (read.fault()) throw store_error{*read.fault()};
    return made;
}

// The agent looks for the row first, and a trigger makes way for it in one step: so twice.
seen_run api_client::look_for_run(const std::string& id) {
    pawl::client::question what;
    what.target = "/api/v1/runs/" + percent_encode(id);
    for (int look = 1;; ++look) {
        const auto found = ask(what);
        seen_run made;
        if (found.status == 200) {
            made.run = taken(documents::run_of(parsed(caller_.where(), found.body)));
            return made;
        }
        if (found.status != 404 || !found.find("content-type").starts_with(problem_type))
            reject(found);
        const auto told = parsed(caller_.where(), found.body);
        documents::member_reader read{told, "the rejection"};
        if (read.find("job") != nullptr) made.waits_for = read.text("job");
        if (made.waits_for || look == 2) return made;
    }
}

run_details api_client::show_run(const std::string& id) {
    const auto document = got("/api/v1/runs/" + percent_encode(id));
    run_details made;
    made.run = taken(documents::run_of(document));
    documents::member_reader read{document, "a run"};
    for (const auto& one : read.list("history"))
        made.history.push_back(taken(documents::event_of(one)));
    if (read.fault()) throw store_error{*read.fault()};
    return made;
}

// Byte by byte as it was written.
void api_client::read_parts(const std::string& path, const output_taker& into) {
    std::uint64_t offset = 0;
    for (;;) {
        pawl::client::question what;
        what.target = path + "?offset=" + std::to_string(offset);
        what.accept = "text/plain";
        const auto part = ask(what);
        if (part.status != 200) reject(part);
        const auto begins = number_in(part, "x-pawl-output-offset");
        if (begins > offset) into.gap(begins - offset);
        into.bytes(part.body);
        offset = begins + part.body.size();
        if (part.body.empty()) return;
    }
}

// False for the last.
bool api_client::take_event(const pawl::client::event& one, const output_taker& into,
                            std::uint64_t& offset) {
    if (one.name == "end") return false;
    const auto data = parsed(caller_.where(), one.data);
    documents::member_reader read{data, "an event"};
    if (one.name == "gap") {
        into.gap(static_cast<std::uint64_t>(read.integer("missing", 0, INT64_MAX)));
        offset = static_cast<std::uint64_t>(read.integer("offset", 0, INT64_MAX));
    }
    if (one.name == "output") {
        into.bytes(read.text("text"));
        offset = base::leading_number<std::uint64_t>(one.id).value_or(offset);
    }
    if (read.fault()) throw store_error{*read.fault()};
    return true;
}

api_client::stream_end api_client::follow(const std::string& path, const output_taker& into,
                                          std::uint64_t& offset, bool& fruitful) {
    pawl::client::question what;
    what.target = path + "?offset=" + std::to_string(offset);
    what.accept = "text/event-stream";
    auto head = caller_.begin(what, pawl::client::length::endless).value();
    if (head.status != 200) {
        caller_.read_rest(head).value();
        reject(head);
    }
    pawl::client::event_reader events;
    for (;;) {
        const auto piece = caller_.more();
        if (piece.has_error() || !*piece) return stream_end::broken;
        events.take(**piece);
        for (auto next = events.next().value(); next; next = events.next().value()) {
            fruitful = true;
            if (!take_event(*next, into, offset)) return stream_end::over;
        }
    }
}

void api_client::read_output(const std::string& id, reading how, const output_taker& into) {
    const auto path = "/api/v1/runs/" + percent_encode(id) + "/output";
    if (how == reading::once) return read_parts(path, into);
    std::uint64_t offset = 0;
    for (int fruitless = 0;;) {
        bool fruitful = false;
        try {
            if (follow(path, into, offset, fruitful) == stream_end::over) return;
        } catch (const store_error& error) {
            // At first the user should hear of it; later an agent may be restarted.
            if (error.code() != errc::unreachable || fruitless == 0) throw;
        }
        fruitless = fruitful ? 1 : fruitless + 1;
        if (fruitless > fruitless_attempts_max)
            throw exit_error{status::unavailable, pawl::client::text_of(caller_.where()) +
                                                      ": the output cannot be followed any more"};
        time::pause_until(lease_clock::now() + attempt_interval);
    }
}

cancelled_run api_client::cancel_run(const std::string& id, const std::string& reason) {
    json::object body;
    if (!reason.empty()) body["reason"] = reason;
    const auto made = posted("/api/v1/runs/" + percent_encode(id) + "/cancel", body);
    documents::member_reader read{made, "the answer"};
    cancelled_run told;
    told.job = read.text("job");
    told.withdrawn = read.flag("withdrawn");
    // An earlier agent does not tell.
    if (!told.withdrawn && read.find("run_status") != nullptr)
        told.is_finished = read.text("run_status") == name_of(run_status::cancelled);
    if (read.fault()) throw store_error{*read.fault()};
    return told;
}

// -- nodes, the audit, and the store's health

std::vector<node_entry> api_client::list_nodes() {
    const auto document = got("/api/v1/nodes");
    documents::member_reader read{document, "the list of nodes"};
    const auto as_of = read.time("as_of");
    std::vector<node_entry> all;
    for (const auto& one : read.list("nodes")) all.push_back(taken(documents::node_of(one, as_of)));
    if (read.fault()) throw store_error{*read.fault()};
    return all;
}

std::vector<audit_entry> api_client::list_audit(std::uint64_t before, std::size_t limit) {
    const auto document =
        got("/api/v1/audit" + page_query(before == 0 ? "" : std::to_string(before), limit));
    documents::member_reader read{document, "the audit"};
    std::vector<audit_entry> all;
    for (const auto& one : read.list("audit")) all.push_back(taken(documents::audit_of(one)));
    if (read.fault()) throw store_error{*read.fault()};
    return all;
}

json::object api_client::examine(const health::doctor_bounds&) {
    auto document = got("/api/v1/doctor");
    documents::member_reader read{document, "the diagnosis"};
    for (const auto* name : {"store", "engine", "version", "level"}) read.text(name);
    for (const auto& one : read.list("checks")) {
        documents::member_reader check{one, "a check"};
        for (const auto* name : {"check", "level", "text", "runbook"}) check.text(name);
        if (check.fault()) throw store_error{*check.fault()};
    }
    if (read.fault()) throw store_error{*read.fault()};
    auto made = std::move(document.as_object());
    made.erase("as_of");
    return made;
}

std::string token_of_environment() {
    const auto token = environment("PAWL_TOKEN");
    if (!token) return "";
    const bool plain =
        std::all_of(token->begin(), token->end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (plain && token->size() <= token_bytes_max) return *token;
    throw exit_error{status::configuration, "PAWL_TOKEN is not a token: it has at most " +
                                                std::to_string(token_bytes_max) +
                                                " letters, digits and signs, without white space"};
}

}  // namespace

void client::tell_queued_in_part(const std::vector<std::string>& ids) {
    std::string line = "not all runs were queued; these were, or may be:";
    for (const auto& id : ids) line += ' ' + base::printable(id);
    log(log_level::warn, line);
}

bool asks_an_agent(const globals& options) {
    if (options.url) return true;
    if (options.store || options.journal) return false;
    // A run asks the store that granted its lease, and no other.
    if (environment("PAWL_FENCE_TOKEN")) return false;
    return environment("PAWL_URL").has_value();
}

std::unique_ptr<client> open_client(const globals& options) {
    if (!asks_an_agent(options)) return open_store_client(options);
    if (options.url) return open_api_client(*options.url, "--url");
    return open_api_client(*environment("PAWL_URL"), "PAWL_URL");
}

std::unique_ptr<client> open_api_client(const std::string& url, const std::string& from) {
    auto where = pawl::client::parse_address(url);
    if (where.has_error())
        throw exit_error{from == "--url" ? status::usage : status::configuration,
                         from + ": column " + std::to_string(where.error().column + 1) + ": " +
                             where.error().what};
    if (where->how == pawl::client::scheme::https && where->trust.ca.empty())
        where->trust.ca = environment("PAWL_CA").value_or("");
    auto token = token_of_environment();
    if (where->how == pawl::client::scheme::http && !token.empty() &&
        !pawl::client::is_loopback(*where))
        log(log_level::warn, "the token goes to " + pawl::client::text_of(*where) +
                                 " in the clear, where others may read it: use https://");
    return std::make_unique<api_client>(std::move(*where), std::move(token));
}

}  // namespace pawl::cli
