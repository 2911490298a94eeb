#include "api/api.hpp"
#include "api/limits/single_flight.hpp"
#include "api/request/json_body.hpp"
#include "api/request/problem.hpp"
#include "documents/documents.hpp"
#include "openapi_json.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;

// Which key is read to see whether the store answers. No process holds it.
constexpr const char* probed_key = "pawl/readiness";
constexpr millis audit_head_age_max = std::chrono::minutes{10};
constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";

http::response plain(std::string text) {
    http::response made{200, "text/plain; charset=utf-8", std::move(text)};
    made.set("Cache-Control", "no-store");
    return made;
}

using counter = std::function<http::server_counts()>;

// Why the node takes no runs; empty when it does.
awaitable<std::string> find_unready(shared_context around) {
    auto looking = around->node->look(health_timeout);
    const auto seen = co_await std::move(looking);
    if (!seen) co_return "the scheduler's loop does not answer";
    if (auto why = unready(*seen); !why.empty()) co_return why;
    auto reading = around->core->running()->store().inspect(probed_key);
    const auto read = co_await std::move(reading);
    if (read.has_error()) co_return "the store does not answer: " + read.error().detail;
    if (around->instruments->store_rejects())
        co_return "the store rejects claims and renewals: it is read-only, full, or without its "
                  "replicas (pawl doctor)";
    co_return std::string{};
}

awaitable<std::shared_ptr<const bool>> look_whether_well(shared_context around) {
    auto looking = around->node->look(health_timeout);
    const auto seen = co_await std::move(looking);
    co_return std::make_shared<const bool>(seen.has_value());
}

awaitable<std::shared_ptr<const std::string>> look_whether_ready(shared_context around) {
    auto finding = find_unready(std::move(around));
    auto unready = co_await std::move(finding);
    co_return std::make_shared<const std::string>(std::move(unready));
}

// The newest entry of the audit, as it was when it was asked for last. Its hash is a label, and
// each one that is told is a series of its own.
struct audit_head {
    instant asked_at{};
    std::uint64_t sequence = 0;
    std::string hash{};
};

awaitable<void> renew_head(const shared_context& around, audit_head& known) {
    const auto now = around->core->loop().now();
    if (!known.hash.empty() && now - known.asked_at < audit_head_age_max) co_return;
    auto reading = around->records->list_audit(0, 1);
    const auto newest = co_await std::move(reading);
    if (newest.has_error()) {
        known = {};
    } else if (!newest->empty()) {
        known = {now, newest->front().sequence, newest->front().hash};
    }
}

awaitable<metrics::live_values> collect(shared_context around, counter counted,
                                        std::shared_ptr<audit_head> head) {
    metrics::live_values values;
    auto looking = around->node->look(health_timeout);
    if (auto seen = co_await std::move(looking)) {
        values.scheduler_up = true;
        values.next_occurrences = seen->next_occurrences;
    }
    if (around->records) {
        auto listing = around->records->list_nodes();
        const auto nodes = co_await std::move(listing);
        if (nodes.has_value())
            for (const auto& one : *nodes)
                values.node_heartbeats.emplace_back(one.name, one.last_seen);
    }
    if (around->records) {
        auto renewing = renew_head(around, *head);
        co_await std::move(renewing);
        values.audit_sequence = head->sequence;
        values.audit_hash = head->hash;
    }
    values.store_up = around->instruments->store_is_up();
    if (counted) {
        const auto counts = counted();
        values.connections = counts.connections;
        values.accepted = counts.accepted;
        values.rejected = counts.rejected;
        values.malformed = counts.malformed;
        values.timed_out = counts.timed_out;
    }
    co_return values;
}

awaitable<std::shared_ptr<const std::string>> write_metrics(shared_context around, counter counted,
                                                            std::shared_ptr<audit_head> head) {
    auto collecting = collect(around, std::move(counted), std::move(head));
    auto values = co_await std::move(collecting);
    // With thousands of jobs it is megabytes, which no other request should wait for.
    const auto write = [instruments = around->instruments, values = std::move(values)] {
        return instruments->text(values);
    };
    auto writing = around->core->loop().run_blocking(write);
    auto text = co_await std::move(writing);
    co_return std::make_shared<const std::string>(std::move(text));
}

// Answers of open routes are shared, and kept for a moment, so that a client that may not log in
// may not load the store either, nor the scheduler, whose loop is asked. On the loop only.
class operation {
public:
    operation(shared_context around, counter counted)
        : around_{std::move(around)},
          well_{std::make_shared<single_flight<bool>>(
              [around = around_] { return look_whether_well(around); })},
          unready_{std::make_shared<text_answer>(
              [around = around_] { return look_whether_ready(around); })},
          metrics_{std::make_shared<text_answer>(
              [around = around_, counted, head = std::make_shared<audit_head>()] {
                  return write_metrics(around, counted, head);
              })} {}
    using self_ptr = std::shared_ptr<operation>;

    static awaitable<http::response> health(self_ptr self, shared_call) {
        auto looking = single_flight<bool>::get(self->well_, open_answer_age_max);
        const auto well = co_await std::move(looking);
        if (!*well) co_return problem(503, "the scheduler's loop does not answer");
        auto made = plain("ok\n");
        // By it a page tells a restart, which ends the sessions, from a session that was ended.
        made.set("Pawl-Started-At", self->started_at_);
        co_return made;
    }

    static awaitable<http::response> readiness(self_ptr self, shared_call) {
        auto finding = text_answer::get(self->unready_, open_answer_age_max);
        const auto unready = co_await std::move(finding);
        if (!unready->empty()) co_return problem(503, *unready);
        co_return plain("ready\n");
    }

    static awaitable<http::response> metrics(self_ptr self, shared_call) {
        auto writing = text_answer::get(self->metrics_, open_answer_age_max);
        auto text = co_await std::move(writing);
        http::response made{200};
        made.set("Content-Type", metrics_type);
        made.set("Cache-Control", "no-store");
        made.shared_body = std::move(text);
        co_return made;
    }

    static awaitable<http::response> document(self_ptr self, shared_call asked) {
        co_return tagged_response(*asked, self->document_);
    }

private:
    using text_answer = single_flight<std::string>;

    // Constant after construction
    shared_context around_;
    const std::string started_at_ = documents::now_text();
    std::shared_ptr<single_flight<bool>> well_;
    std::shared_ptr<text_answer> unready_, metrics_;
    const fixed_document document_{boost::json::parse(embedded::openapi_json).as_object()};
};

template <class Answer>
answerer bound(std::shared_ptr<operation> self, Answer answer) {
    return [self = std::move(self), answer](shared_call asked) {
        return answer(self, std::move(asked));
    };
}

}  // namespace

routes operation_routes(shared_context around, access metrics_need,
                        std::function<http::server_counts()> counted) {
    const auto self = std::make_shared<operation>(std::move(around), std::move(counted));
    routes all;
    all.push_back({"GET", "/healthz", access::open, bound(self, operation::health)});
    all.push_back({"GET", "/readyz", access::open, bound(self, operation::readiness)});
    all.push_back({"GET", "/metrics", metrics_need, bound(self, operation::metrics), cost::much});
    all.push_back({"GET", "/api/v1/openapi.json", access::open, bound(self, operation::document)});
    return all;
}

}  // namespace pawl::api
