#include "api/monitoring/audit_routes.hpp"

#include "api/limits/single_flight.hpp"
#include "api/limits/user_quota.hpp"
#include "api/request/journal_need.hpp"
#include "api/request/json_body.hpp"
#include "api/request/list_writer.hpp"
#include "api/request/problem.hpp"
#include "api/request/query_parameters.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"
#include "engines/rules/journal/audit_chain.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

// Hashes that are worked out between two turns of the loop: well below a millisecond.
constexpr std::size_t hashes_at_once = 100;
// Who asks shortly after another caller is given the same answer: for so many times as long as the
// walk took, so that walks take a small part of the time however often callers ask.
constexpr int verification_share = 10;
constexpr millis verification_fresh_least{1'000};
constexpr millis verification_fresh_most{300'000};
// Verifications against a head, which callers do not share, at a time; one user has one.
constexpr user_quota::rules head_walks{.most = 2, .most_of_user = 1};

// A cursor is the sequence of the last entry that was seen.
std::variant<std::int64_t, http::response> before_of(const call& asked) {
    const auto after = asked.query.find("after");
    if (after == asked.query.end() || after->second.empty()) return std::int64_t{0};
    return integer_of(asked, "after", 1, INT64_MAX, 0);
}

awaitable<http::response> list_audit(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {"after", "limit"})) co_return std::move(*fault);
    auto request = page_of(*asked);
    if (auto* fault = std::get_if<http::response>(&request)) co_return std::move(*fault);
    auto before = before_of(*asked);
    if (auto* fault = std::get_if<http::response>(&before)) co_return std::move(*fault);
    const auto limit = std::get<page_request>(request).limit;
    const auto from = static_cast<std::uint64_t>(std::get<std::int64_t>(before));
    list_writer entries{around->core->loop(), "audit", documents::now_text()};
    std::uint64_t last = 1;
    // Nothing comes before the first entry, and 0 means the newest.
    if (from != 1) {
        auto listing = around->records->list_audit(from, limit);
        const auto found = co_await std::move(listing);
        if (found.has_error()) co_return problem_of(found.error());
        for (const auto& one : *found) {
            entries.add(documents::json_of(one));
            if (!entries.turn_is_over()) continue;
            auto turning = entries.give_turn();
            co_await std::move(turning);
        }
        if (found->size() == limit) last = found->back().sequence;
    }
    co_return entries.finish(*asked, last > 1 ? std::to_string(last) : "");
}

using verification = result<json::object>;

// Gives others on the loop their turn.
awaitable<void> yield(shared_context around) {
    auto posting =
        boost::asio::post(around->core->loop().get_executor(), boost::asio::use_awaitable);
    co_await std::move(posting);
}

awaitable<std::shared_ptr<const verification>> walk_audit(shared_context around, std::string head) {
    journals::chain_walk walk{std::move(head)};
    while (!walk.is_finished()) {
        auto listing = around->records->list_audit(walk.before(), page_limit_max);
        const auto page = co_await std::move(listing);
        if (page.has_error()) co_return std::make_shared<const verification>(page.error());
        if (page->empty()) walk.take({});
        for (std::size_t from = 0; from < page->size() && !walk.is_finished();
             from += hashes_at_once) {
            const auto many = std::min(hashes_at_once, page->size() - from);
            walk.take(std::span{*page}.subspan(from, many));
            auto yielding = yield(around);
            co_await std::move(yielding);
        }
    }
    json::object document;
    document["verified"] = walk.verified();
    document["broken_at"] = nullptr;
    document["detail"] = "the chain holds: " + std::to_string(walk.verified()) +
                         (walk.verified() == 1 ? " entry" : " entries");
    if (const auto& broken = walk.broken()) {
        document["broken_at"] = broken->sequence;
        document["detail"] = "the audit has been tampered with: " + broken->what;
    }
    document["as_of"] = documents::now_text();
    co_return std::make_shared<const verification>(std::move(document));
}

using verifier = single_flight<verification>;

struct verifiers {
    std::shared_ptr<verifier> whole;  // without a head: one walk for all who ask
    millis fresh = verification_fresh_least;
    std::shared_ptr<user_quota> with_head = std::make_shared<user_quota>(head_walks);
};

awaitable<std::shared_ptr<const verification>> walk_for_all(shared_context around,
                                                            std::shared_ptr<verifiers> walks) {
    const auto begun = around->core->loop().now();
    auto walking = walk_audit(around, "");
    auto found = co_await std::move(walking);
    const auto took = std::chrono::ceil<millis>(around->core->loop().now() - begun);
    // A journal that is down is no reason to ask it less often.
    walks->fresh = found->has_error()
                       ? verification_fresh_least
                       : std::clamp(took * verification_share, verification_fresh_least,
                                    verification_fresh_most);
    co_return found;
}

awaitable<http::response> verify(shared_context around, std::shared_ptr<verifiers> walks,
                                 shared_call asked) {
    if (auto fault = query_fault(*asked, {"head"})) co_return std::move(*fault);
    const auto head = asked->query.find("head");
    std::shared_ptr<const verification> found;
    if (head == asked->query.end()) {
        auto walking = verifier::get(walks->whole, walks->fresh);
        found = co_await std::move(walking);
    } else if (!journals::is_hash(head->second)) {
        co_return problem(400, "invalid head '" + base::printable(head->second) +
                                   "'; expected the 64 hexadecimal digits of a hash");
    } else {
        const auto taken = user_quota::take(walks->with_head, asked->who.name);
        if (std::holds_alternative<user_quota::full>(taken))
            co_return too_many("a verification against a head is under way already: try again",
                               std::chrono::seconds{1});
        auto walking = walk_audit(around, head->second);
        found = co_await std::move(walking);
    }
    if (found->has_error()) co_return problem_of(found->error());
    co_return json_response(200, **found);
}

}  // namespace

routes audit_routes(shared_context around) {
    const auto walks = std::make_shared<verifiers>();
    walks->whole = std::make_shared<verifier>(
        [around, weak = std::weak_ptr{walks}] { return walk_for_all(around, weak.lock()); });
    const auto get = [&](std::string pattern, journal_answer answer) {
        return route{"GET", std::move(pattern), access::viewer,
                     with_journal(around, std::move(answer)), cost::much};
    };
    routes all;
    all.push_back(get("/api/v1/audit", list_audit));
    all.push_back(
        get("/api/v1/audit/verification", [walks](shared_context where, shared_call asked) {
            return verify(std::move(where), walks, std::move(asked));
        }));
    return all;
}

}  // namespace pawl::api
