#include "api/locks/lease_routes.hpp"

#include "api/limits/label_quota.hpp"
#include "api/locks/fence_token_text.hpp"
#include "api/locks/lease_rights.hpp"
#include "api/locks/lease_service.hpp"
#include "api/locks/lock_routes.hpp"
#include "api/request/json_body.hpp"
#include "api/request/problem.hpp"
#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"
#include "http/router.hpp"
#include "net/unattended.hpp"
#include "runtime/checks.hpp"
#include "runtime/done_mark.hpp"
#include "schedule/queue/key_queue.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
namespace json = boost::json;

// A release is asked for so often; then the TTL does it (rule 13).
constexpr int release_attempts = 2;
// What is done lies ahead of this agent's clock by an error of the clock at most: it would use up
// the key's future (rule 6).
constexpr millis done_ahead_max = std::chrono::hours{24};

struct service_state {
    explicit service_state(shared_context where)
        : around{std::move(where)}, service{std::make_shared<lease_service>(*around->core)} {}

    const runtime::engine& engine() const { return *around->core->running(); }
    lease_store& store() const { return engine().store(); }

    struct known_lease {
        std::string user, owner;
        std::optional<instant> granted{};  // nothing: by another agent
        // A copy of the claim may still be on its way to the store: its id. Nothing: the claim was
        // sent once.
        std::optional<std::string> claimed_again{};
        std::optional<pawl::occurrence> occurrence{};  // that it was acquired for
    };

    void remember(const std::string& key, fence_token token, known_lease one) {
        if (known.size() >= leases_remembered_max) known.erase(known.begin());
        known.insert_or_assign({token, key}, std::move(one));
    }
    void forget(const std::string& key, fence_token token) { known.erase({token, key}); }
    void count_renewal(const std::string& key, fence_token token) {
        around->instruments->renewed(true);
        const auto found = known.find({token, key});
        if (found != known.end()) hear_from(found->second.user, found->second.owner);
    }
    void hear_from(const std::string& user, const std::string& owner) {
        const bool own_label = owners.admit(user, owner, around->core->loop().now());
        around->instruments->heard_from(own_label ? std::string_view{owner} : shared_label);
    }
    void count_rejection(const std::string& user, const std::string& resource) {
        const bool own_label = resources.admit(user, resource, around->core->loop().now());
        around->instruments->rejected(own_label ? std::string_view{resource} : shared_label);
    }
    // Leaves a tombstone for a copy of the claim, which would hold the key in vain. Only of a
    // lease that was released, and before the client hears of that: what is granted under the same
    // id later is not this claim's to end.
    static awaitable<void> bury(std::shared_ptr<service_state> self, std::string key,
                                fence_token token) {
        const auto found = self->known.find({token, key});
        if (found == self->known.end() || !found->second.claimed_again) co_return;
        withdrawal buried{std::move(key),
                          *std::exchange(found->second.claimed_again, std::nullopt)};
        const auto until = self->around->core->loop().now() + self->engine().settings().timeout;
        auto burying =
            runtime::claimer::withdraw(self->engine().claims(), std::move(buried), until);
        co_await std::move(burying);
    }
    // A claim under this id of a client's had no answer, or has one now.
    void unanswered(const std::string& id) {
        if (in_doubt.size() >= leases_remembered_max) in_doubt.erase(in_doubt.begin());
        in_doubt.insert(id);
    }
    bool was_sent_again(const client_grant& won) {
        const bool was_in_doubt = in_doubt.erase(won.id) > 0;
        return won.repeated || was_in_doubt || known.contains({won.what.token, won.what.key});
    }
    void count_release(const std::string& key, fence_token token) {
        const auto found = known.find({token, key});
        if (found == known.end()) return;
        if (const auto granted = found->second.granted)
            around->instruments->released(
                std::chrono::floor<millis>(around->core->loop().now() - *granted));
        known.erase(found);
    }
    // Another's occurrence is not this lease's to give back.
    bool may_give_back(const std::string& key, fence_token token, occurrence which) const {
        const auto found = known.find({token, key});
        return found == known.end() || !found->second.granted || found->second.occurrence == which;
    }

    shared_context around;
    std::shared_ptr<lease_service> service;
    // The lowest tokens, which are the oldest, go first when there are too many.
    std::map<std::pair<fence_token, std::string>, known_lease> known;
    label_quota owners, resources;
    std::set<std::string> in_doubt;  // ids of clients' own claims, as the store sees them
};
using shared_state = std::shared_ptr<service_state>;

// The id that the store sees for a client's own: callers cannot hit upon each other's, nor upon
// those of pawl itself, whatever they choose, and every engine takes its length. One for each key:
// a store may remember by the id alone that its claim is dead.
// And one for each occurrence, so that a claim gives back what it was for and no other.
std::string id_at_store(const caller& who, std::string_view key, std::string_view chosen,
                        std::optional<occurrence> of) {
    auto text = who.name + '\n' + std::string{key} + '\n' + std::string{chosen};
    if (of) text += '\n' + std::to_string(number(*of));
    return "http-" + base::sha256_hex(text).substr(0, 48);
}

std::optional<std::string> claim_id_fault(std::string_view id) {
    const auto allowed = [](char c) { return base::is_alphanumeric(c) || c == '_' || c == '-'; };
    if (!id.empty() && id.size() <= claim_id_bytes_max &&
        std::all_of(id.begin(), id.end(), allowed))
        return std::nullopt;
    return "claim_id '" + base::printable(id) + "' is not 1 to " +
           std::to_string(claim_id_bytes_max) + " letters, digits, '_' or '-'";
}

// `slots`: nothing where the key itself is wanted.
std::optional<std::string> options_fault(const runtime::engine& engine, const std::string& key,
                                         const lease_options& how,
                                         std::optional<std::int64_t> slots = std::nullopt) {
    try {
        if (slots)
            runtime::check_slots(engine, key, *slots, how, wait_policy{});
        else
            runtime::check_claim(engine, key, how, wait_policy{});
    } catch (const option_error& bad) {
        return bad.what();
    }
    return std::nullopt;
}

lease_options kept_by_client(millis ttl) {
    lease_options how;
    how.ttl = ttl;
    how.renew = renewal_mode::manual;
    return how;
}

struct asked_claim {
    std::shared_ptr<client_claim> what;
    std::string claim_id;  // as the client wrote it; empty when it chose none
};

// A claim as a request has it, or what is wrong with it.
std::variant<asked_claim, http::response> claim_of(const service_state& state, const call& asked) {
    body_reader body{
        *asked.request,
        {"key", "slots", "owner", "ttl_ms", "occurrence", "wait_ms", "at_least_once", "claim_id"}};
    auto wanted = std::make_shared<client_claim>();
    wanted->user = asked.who.name;
    wanted->key = body.required_text("key");
    const auto slots = body.integer("slots", 1, slots_max);
    wanted->slots = static_cast<std::uint32_t>(slots.value_or(0));
    wanted->how = kept_by_client(millis{body.required_integer("ttl_ms", 1, ttl_max.count())});
    const auto named = body.text("owner");
    wanted->owner = owner_text(asked.who, named.value_or(asked.request->peer));
    wanted->how.occurrence = body.instant("occurrence");
    wanted->wait = millis{body.integer("wait_ms", 0, lease_wait_max.count()).value_or(0)};
    const bool at_least_once = body.boolean("at_least_once").value_or(false);
    if (at_least_once) wanted->how.delivery = delivery::at_least_once;
    const auto chosen = body.text("claim_id");
    wanted->gone = asked.request->gone;
    if (body.fault()) return *body.fault();
    for (const auto& owner : {named.value_or(wanted->owner), wanted->owner})
        if (auto bad = base::owner_fault(owner)) return problem(400, *bad);
    auto reserved = reserved_fault(wanted->key, asked.who);
    // A slot's key may be reserved where its name alone is not.
    if (slots && !reserved)
        reserved = reserved_fault(runtime::key_of_slot(wanted->key, 0), asked.who);
    if (reserved) return std::move(*reserved);
    if (at_least_once && !wanted->how.occurrence)
        return problem(400,
                       "at_least_once says when an occurrence counts as done: give occurrence");
    if (chosen && slots)
        return problem(400,
                       "a claim of a slot takes no claim_id: a repetition could hold a second "
                       "slot");
    if (chosen) {
        if (auto bad = claim_id_fault(*chosen)) return problem(400, *bad);
        wanted->id = id_at_store(asked.who, wanted->key, *chosen, wanted->how.occurrence);
    }
    if (auto bad = options_fault(state.engine(), wanted->key, wanted->how, slots))
        return problem(400, *bad);
    return asked_claim{std::move(wanted), chosen.value_or("")};
}

json::object json_of_lease(const std::string& key, fence_token token, millis ttl) {
    json::object one;
    one["key"] = key;
    one["fence_token"] = number(token);
    one["ttl_ms"] = ttl.count();
    return one;
}

std::string_view word_of(busy_reason why) {
    switch (why) {
        case busy_reason::held:
            return "held";
        case busy_reason::cooldown:
            return "cooldown";
        case busy_reason::quarantined:
            return "quarantined";
        case busy_reason::early:
            break;
    }
    return "early";
}

std::string whole_seconds(millis left) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    return std::to_string(std::max<std::int64_t>(1, seconds));
}

http::response busy_problem(const busy& other, const client_claim& wanted) {
    json::object more;
    more["owner"] = other.owner;
    more["fence_token"] = number(other.holder);
    more["remaining_ms"] = other.remaining.count();
    more["reason"] = word_of(other.reason);
    const auto text = wanted.slots > 0 ? documents::text_of_slots(other, wanted.key, wanted.slots)
                                       : documents::text_of(other, wanted.key);
    auto made = problem(409, text, std::move(more));
    made.set("Retry-After", whole_seconds(other.remaining));
    return made;
}

// `mark`: nothing where the store has none, as after a loss of its data.
http::response done_problem(const already_done& done, std::optional<occurrence> mark,
                            const std::string& key) {
    const auto last = documents::time_text(number(mark.value_or(done.last)));
    json::object more;
    more["last_occurrence"] = last;
    more["answer_lost"] = done.answer_lost;
    more["forgotten"] = !mark;
    if (done.answer_lost)
        return problem(410,
                       "this occurrence of '" + base::printable(key) +
                           "' may not have run, and will not any more: the store did not answer "
                           "an earlier request of this claim, and granted the key to another",
                       std::move(more));
    if (!mark)
        return problem(410,
                       "this occurrence of '" + base::printable(key) +
                           "' may not have run, and will not any more: " +
                           std::string{text_of(schedule::skip_reason::forgotten)},
                       std::move(more));
    return problem(410,
                   "this occurrence of '" + base::printable(key) +
                       "' has run: the last that is done is " + last,
                   std::move(more));
}

http::response asked_again(std::string_view detail) {
    auto made = problem(503, detail);
    made.set("Retry-After", "1");
    return made;
}

// 201, with the claim_id as the client wrote it.
http::response granted(const client_grant& won, const std::string& owner,
                       const std::string& claim_id) {
    auto body = json_of_lease(won.what.key, won.what.token, won.what.ttl);
    body["owner"] = owner;
    body["waited_ms"] = won.waited.count();
    if (!claim_id.empty()) body["claim_id"] = claim_id;
    if (won.slot) body["slot"] = *won.slot;
    auto made = json_response(201, body);
    made.set("Location", "/api/v1/leases/" + base::percent_encode(won.what.key) + '/' +
                             std::to_string(number(won.what.token)));
    return made;
}

// What was granted to a user who may not have it any more.
awaitable<void> give_back(shared_state state, client_grant won,
                          std::shared_ptr<const client_claim> wanted) {
    withdrawal given_up{won.what.key, won.id, wanted->how.occurrence};
    auto withdrawing =
        runtime::claimer::give_back(state->engine().claims(), std::move(given_up), wanted->how);
    const auto gone = co_await std::move(withdrawing);
    auto words = "token " + std::to_string(number(won.what.token)) +
                 ", given back, as the user was removed while it waited";
    if (gone.has_error()) words = documents::in_doubt(std::move(words));
    audit_often(state->around, wanted->user, "lease.release", won.what.key, std::move(words));
}

awaitable<http::response> acquire(shared_state state, shared_call asked) {
    auto read = claim_of(*state, *asked);
    if (auto* bad = std::get_if<http::response>(&read)) co_return std::move(*bad);
    const auto [wanted, claim_id] = std::get<asked_claim>(std::move(read));
    const auto began = state->around->core->loop().now();
    auto asking = lease_service::ask(state->service, wanted);
    auto outcome = co_await std::move(asking);
    const auto count = [&](acquire_outcome what) {
        const auto took = std::chrono::floor<millis>(state->around->core->loop().now() - began);
        state->around->instruments->leased(what, took);
    };
    if (const auto* won = std::get_if<client_grant>(&outcome)) {
        if (asked->is_still_admitted && !asked->is_still_admitted()) {
            auto returning = give_back(state, *won, wanted);
            co_await std::move(returning);
            co_return problem(401, "the user was removed, or may not any more, while '" +
                                       base::printable(won->what.key) +
                                       "' was waited for: log in again");
        }
        count(acquire_outcome::granted);
        state->hear_from(asked->who.name, wanted->owner);
        const auto& lease = won->what;
        service_state::known_lease one{asked->who.name, wanted->owner,
                                       state->around->core->loop().now()};
        if (state->was_sent_again(*won)) one.claimed_again = won->id;
        one.occurrence = wanted->how.occurrence;
        state->remember(lease.key, lease.token, std::move(one));
        audit_often(state->around, asked->who.name, "lease.acquire", lease.key,
                    "token " + std::to_string(number(lease.token)) + ", for " +
                        base::format_duration(lease.ttl));
        co_return granted(*won, wanted->owner, claim_id);
    }
    if (const auto* other = std::get_if<busy>(&outcome)) {
        count(acquire_outcome::busy);
        co_return busy_problem(*other, *wanted);
    }
    if (auto* done = std::get_if<already_done>(&outcome)) {
        count(acquire_outcome::already_done);
        // An earlier request of this claim had no answer, and may be what has marked it.
        const bool marks = wanted->how.delivery == delivery::at_most_once;
        if (wanted->id && marks && wanted->how.occurrence == done->last &&
            state->in_doubt.contains(*wanted->id))
            done->answer_lost = true;
        auto finding =
            runtime::find_done_mark(state->around->core->running(), wanted->key,
                                    wanted->how.occurrence.value_or(done->last), done->last);
        const auto mark = co_await std::move(finding);
        if (mark.has_error()) co_return problem_of(mark.error());
        co_return done_problem(*done, *mark, wanted->key);
    }
    if (const auto* why = std::get_if<failure>(&outcome)) {
        count(acquire_outcome::error);
        if (wanted->id && may_pass(why->code)) state->unanswered(*wanted->id);
        // What the client may hold now, and no withdrawal of ours ends.
        if (wanted->id && why->code == errc::outcome_unknown)
            audit_often(state->around, asked->who.name, "lease.acquire", wanted->key,
                        documents::in_doubt("for " + base::format_duration(wanted->how.ttl)));
        co_return problem_of(*why);
    }
    if (const auto* full = std::get_if<crowded>(&outcome))
        co_return full->why == user_quota::full::of_all
            ? asked_again("too many requests wait for keys: ask again without wait_ms")
            : too_many("user '" + base::printable(asked->who.name) + "' has " +
                           std::to_string(claim_waiters_of_user_max) +
                           " requests that wait for keys already: ask again without wait_ms",
                       std::chrono::seconds{1});
    co_return asked_again("the client has disconnected, or the agent is stopping");
}

// The key and the token in the path.
struct named_lease {
    std::string key;
    fence_token token{};
};

std::variant<named_lease, http::response> lease_of(const call& asked) {
    named_lease which;
    which.key = asked.path.find("key")->second;
    if (auto bad = base::key_fault(which.key)) return problem(400, *bad);
    const auto& text = asked.path.find("fence_token")->second;
    const auto token = fence_token_of(text);
    if (!token)
        return problem(400, "'" + base::printable(text) +
                                "' at the end of the path: " + std::string{fence_token_right});
    which.token = *token;
    return which;
}

http::response runs_problem(const named_lease& which, const run_record& run) {
    return problem(403, "the lease of '" + base::printable(which.key) + "' is that of run " +
                            base::printable(run.id) + ", which " + base::printable(run.node) +
                            " keeps: cancel the run, or force-release the lock at "
                            "/api/v1/locks/release");
}

http::response others_problem(const named_lease& which, std::string_view owner) {
    return problem(403, "the lease of '" + base::printable(which.key) + "' is that of " +
                            base::printable(owner) +
                            ", and belongs to the user who took it; an admin ends it at "
                            "/api/v1/locks/release");
}

// A lease that was taken through any agent belongs to its user, whichever user is shown its token.
awaitable<std::optional<http::response>> owner_fault(shared_state state, caller who,
                                                     named_lease which) {
    const auto found = state->known.find({which.token, which.key});
    if (found != state->known.end()) {
        if (found->second.user == who.name) co_return std::nullopt;
        co_return others_problem(which, found->second.user);
    }
    auto looking = state->store().inspect(which.key);
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return problem_of(seen.error());
    // Of what is not held under that token the store says so. One that has ended may still be told
    // what of its work is done.
    const auto& lock = *seen;
    const bool has_ended = lock && lock->holder != which.token && lock->last_token == which.token;
    if (!lock || (lock->holder != which.token && (!has_ended || lock->owner.empty())))
        co_return std::nullopt;
    if (!is_owned_by(lock->owner, who)) co_return others_problem(which, lock->owner);
    if (has_ended) co_return std::nullopt;
    state->remember(which.key, which.token, {who.name, (*seen)->owner});
    co_return std::nullopt;
}

// Tokens of runs are shown to all users, and their runner alone stops them before their lease
// ends: anybody else takes it by force, with a delay and a reason, in the audit (rule 5). A job's
// key may be an admin's own as well, so that the journal has to tell.
awaitable<std::optional<http::response>> job_fault(shared_state state, caller who,
                                                   named_lease which) {
    auto finding = find_holding_run(state->around, which.key, which.token);
    const auto found = co_await std::move(finding);
    if (found.trouble) co_return problem_of(*found.trouble);
    if (found.run) co_return runs_problem(which, *found.run);
    auto asking = owner_fault(state, std::move(who), which);
    co_return co_await std::move(asking);
}

// Why the caller may not renew or release it.
awaitable<std::optional<http::response>> right_fault(shared_state state, shared_call asked,
                                                     named_lease which) {
    if (auto bad = reserved_fault(which.key, asked->who)) co_return bad;
    const auto of_job = job_of(which.key).has_value();
    auto asking =
        of_job ? job_fault(state, asked->who, which) : owner_fault(state, asked->who, which);
    auto rejected = co_await std::move(asking);
    // Under other keys the store says whose a lease is: a client's own waits for no journal, which
    // may be away. Of what is not the caller's the journal says what it is.
    if (of_job || !rejected || rejected->status != 403) co_return rejected;
    auto finding = find_holding_run(state->around, which.key, which.token);
    const auto found = co_await std::move(finding);
    if (found.run) co_return runs_problem(which, *found.run);
    co_return rejected;
}

http::response lost_problem(const named_lease& which) {
    return problem(409, "'" + base::printable(which.key) + "' is not held under token " +
                            std::to_string(number(which.token)) + " any more: stop now");
}

awaitable<http::response> renew(shared_state state, shared_call asked) {
    auto read = lease_of(*asked);
    if (auto* bad = std::get_if<http::response>(&read)) co_return std::move(*bad);
    const auto which = std::get<named_lease>(read);
    body_reader body{*asked->request, {"ttl_ms"}};
    const millis ttl{body.required_integer("ttl_ms", 1, ttl_max.count())};
    if (body.fault()) co_return *body.fault();
    const auto how = kept_by_client(ttl);
    if (auto bad = options_fault(state->engine(), which.key, how)) co_return problem(400, *bad);
    auto looking = right_fault(state, asked, which);
    auto rejected = co_await std::move(looking);
    if (rejected) co_return std::move(*rejected);
    std::array<held_lease, 1> leases;
    leases[0].key = which.key;
    leases[0].token = which.token;
    leases[0].ttl = ttl;
    auto renewing = state->store().renew(leases);
    const auto answer = co_await std::move(renewing);
    if (answer.has_error()) co_return problem_of(answer.error());
    switch (answer->front()) {
        case renewal::renewed:
            state->count_renewal(which.key, which.token);
            co_return json_response(200, json_of_lease(which.key, which.token, ttl));
        case renewal::lost:
            state->around->instruments->renewed(false);
            state->forget(which.key, which.token);
            co_return lost_problem(which);
        case renewal::unknown:
            break;
    }
    co_return asked_again("the part of the store that keeps '" + base::printable(which.key) +
                          "' did not answer: retry while the lease is valid");
}

// How a lease ends, as the query says it.
struct asked_ending {
    release_options how;
    // Of a claim whose work never began: what is given back with the lease, and the claim's own id.
    std::optional<occurrence> not_started;
    std::string claim_id;
};

std::variant<occurrence, http::response> occurrence_of(std::string_view name,
                                                       std::string_view value) {
    const auto shown = std::string{name} + " is '" + base::printable(value) + "'";
    const auto when = time::parse_rfc3339(value);
    if (when.has_error())
        return problem(400, shown + ": " + when.error().what +
                                "; expected RFC 3339, such as 2026-11-20T06:00:00Z");
    if (*when > time::wall_now() + done_ahead_max)
        return problem(400, shown +
                                ", which lies in the future: name the occurrence that was "
                                "claimed");
    return occurrence{std::chrono::floor<millis>(*when).time_since_epoch().count()};
}

std::variant<asked_ending, http::response> ending_of(const call& asked) {
    asked_ending made;
    for (const auto& [name, value] : asked.query) {
        if (name == "at_least_ms") {
            const auto least = base::parse_number_within<std::int64_t>(value, 0, ttl_max.count());
            if (!least)
                return problem(400, "at_least_ms is '" + base::printable(value) +
                                        "'; expected an integer from 0 to " +
                                        std::to_string(ttl_max.count()));
            made.how.min_hold = millis{*least};
        } else if (name == "done" || name == "not_started") {
            auto which = occurrence_of(name, value);
            if (auto* bad = std::get_if<http::response>(&which)) return std::move(*bad);
            (name == "done" ? made.how.done : made.not_started) = std::get<occurrence>(which);
        } else if (name == "claim_id") {
            if (auto bad = claim_id_fault(value)) return problem(400, *bad);
            made.claim_id = value;
        } else {
            return problem(400, "unknown parameter '" + base::printable(name) +
                                    "'; known are at_least_ms, claim_id, done and not_started");
        }
    }
    if (made.not_started.has_value() != !made.claim_id.empty())
        return problem(400,
                       "not_started and claim_id go together: the occurrence that was claimed, "
                       "and the claim_id that claimed it");
    if (made.not_started && (made.how.done || made.how.min_hold.count() > 0))
        return problem(400,
                       "what was not_started is not done, and leaves no cooldown: leave done and "
                       "at_least_ms out");
    return made;
}

async<bool> end_lease(shared_state state, shared_call asked, named_lease which,
                      asked_ending ending) {
    if (!ending.not_started) {
        auto releasing = state->store().release(which.key, which.token, ending.how);
        co_return co_await std::move(releasing);
    }
    // A claim is given back by its id, which may have been granted another token since.
    auto looking = state->store().inspect(which.key);
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return seen.error();
    if (!*seen || (*seen)->last_token != which.token) co_return false;
    auto withdrawing = state->store().withdraw(
        {which.key, id_at_store(asked->who, which.key, ending.claim_id, ending.not_started),
         ending.not_started});
    const auto was_held = co_await std::move(withdrawing);
    if (was_held.has_error()) co_return was_held.error();
    if (*was_held || (*seen)->last_done != ending.not_started) co_return *was_held;
    // Of a lease that has ended by itself the mark alone is there to be given back.
    auto looking_again = state->store().inspect(which.key);
    const auto left = co_await std::move(looking_again);
    if (left.has_error()) co_return left.error();
    co_return !*left || (*left)->last_done != ending.not_started;
}

// Whether what was not held any more is still what this token held last: then an earlier request,
// which had no answer, has released it, unless it ended by itself meanwhile.
awaitable<bool> may_have_released(shared_state state, named_lease which) {
    auto looking = state->store().inspect(which.key);
    const auto seen = co_await std::move(looking);
    co_return seen.has_value() && *seen && (*seen)->last_token == which.token;
}

awaitable<http::response> release(shared_state state, shared_call asked) {
    auto read = lease_of(*asked);
    if (auto* bad = std::get_if<http::response>(&read)) co_return std::move(*bad);
    const auto which = std::get<named_lease>(read);
    auto asked_end = ending_of(*asked);
    if (auto* bad = std::get_if<http::response>(&asked_end)) co_return std::move(*bad);
    const auto ending = std::get<asked_ending>(std::move(asked_end));
    auto looking = right_fault(state, asked, which);
    auto rejected = co_await std::move(looking);
    if (rejected) co_return std::move(*rejected);
    if (ending.not_started && !state->may_give_back(which.key, which.token, *ending.not_started))
        co_return problem(400,
                          "'" + base::printable(which.key) +
                              "' was not acquired for the "
                              "occurrence in not_started: name the occurrence that was claimed");
    const auto audit = [&](bool sure) {
        auto words = "token " + std::to_string(number(which.token)) +
                     (ending.not_started ? ", not started" : "");
        audit_often(state->around, asked->who.name, "lease.release", which.key,
                    sure ? std::move(words) : documents::in_doubt(std::move(words)));
    };
    std::optional<failure> trouble;
    for (int attempt = 0; attempt < release_attempts; ++attempt) {
        auto releasing = end_lease(state, asked, which, ending);
        const auto answer = co_await std::move(releasing);
        bool in_doubt = false;
        if (answer.has_value() && !*answer && trouble) {
            auto finding_out = may_have_released(state, which);
            in_doubt = co_await std::move(finding_out);
        }
        if (answer.has_value() && (*answer || in_doubt)) {
            auto burying = service_state::bury(state, which.key, which.token);
            co_await std::move(burying);
            state->count_release(which.key, which.token);
            state->engine().claims()->released(which.key);
            audit(*answer);
            if (*answer) co_return http::response{204};
        }
        if (answer.has_value()) {
            if (!ending.not_started) state->forget(which.key, which.token);
            const auto shown = "'" + base::printable(which.key) + "' is not held under token " +
                               std::to_string(number(which.token)) +
                               (ending.not_started ? " and this claim_id" : " any more");
            // A request without an answer may have done it.
            co_return problem(409, trouble ? shown + "; an earlier request may have released it"
                                           : shown + ": it was lost, or released before");
        }
        trouble = answer.error();
    }
    if (trouble->code == errc::outcome_unknown) audit(false);
    co_return problem_of(*trouble);
}

awaitable<http::response> check_fence(shared_state state, shared_call asked) {
    const auto& resource = asked->path.find("resource")->second;
    if (auto bad = base::key_fault(resource)) co_return problem(400, "resource: " + *bad);
    if (auto bad = reserved_fault(resource, asked->who)) co_return std::move(*bad);
    body_reader body{*asked->request, {"fence_token", "rule"}};
    const fence_token token{
        static_cast<std::uint64_t>(body.required_integer("fence_token", 1, fence_token_max))};
    const auto word = body.text("rule").value_or("reject_older");
    if (body.fault()) co_return *body.fault();
    if (word != "reject_older" && word != "reject_not_newer")
        co_return problem(
            400, "rule is '" + base::printable(word) + "'; write reject_older or reject_not_newer");
    const auto rule =
        word == "reject_older" ? fence_rule::reject_older : fence_rule::reject_not_newer;
    auto checking = state->store().fence(resource, token, rule);
    const auto answer = co_await std::move(checking);
    if (answer.has_error()) co_return problem_of(answer.error());
    const auto shown_token = "token " + std::to_string(number(token));
    if (answer->never_issued) {
        constexpr const char* why =
            " cannot have been issued by this store yet: hand over the fence_token of a grant";
        json::object more{{"never_issued", true}, {"newest", number(answer->highest)}};
        co_return problem(400, shown_token + why, std::move(more));
    }
    audit_often(state->around, asked->who.name, "fence.check", resource,
                shown_token + (answer->accepted ? ", accepted" : ", rejected"));
    if (answer->accepted) co_return http::response{204};
    state->count_rejection(asked->who.name, resource);
    json::object more;
    more["newest"] = number(answer->highest);
    co_return problem(409,
                      shown_token + " is stale for '" + base::printable(resource) +
                          "', which has seen token " + std::to_string(number(answer->highest)) +
                          ": do not write",
                      std::move(more));
}

}  // namespace

routes lease_routes(shared_context around) {
    const auto state = std::make_shared<service_state>(std::move(around));
    const auto by = [state](awaitable<http::response> (*what)(shared_state, shared_call)) {
        return [state, what](shared_call asked) { return what(state, std::move(asked)); };
    };
    return {
        {"POST", "/api/v1/leases", access::client, by(acquire)},
        {"PUT", "/api/v1/leases/{key*}/{fence_token}", access::client, by(renew)},
        {"DELETE", "/api/v1/leases/{key*}/{fence_token}", access::client, by(release)},
        {"POST", "/api/v1/fences/{resource*}", access::client, by(check_fence)},
    };
}

}  // namespace pawl::api
