#include "api/monitoring/doctor_routes.hpp"

#include "api/limits/single_flight.hpp"
#include "api/request/json_body.hpp"
#include "documents/documents.hpp"

#include <exception>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
namespace json = boost::json;

using shared_document = std::shared_ptr<const json::object>;
using shared_diagnosis = single_flight<json::object>;

json::object json_of(const context& around, const health::diagnosis& made) {
    json::array checks;
    for (const auto& one : made.findings)
        checks.push_back(json::object{{"check", one.check},
                                      {"level", documents::word_of(one.level)},
                                      {"text", one.text},
                                      {"runbook", "docs/runbook.md#" + one.check}});
    json::object document;
    document["store"] = around.store_shown;
    document["engine"] = around.engine;
    document["version"] = made.version;
    document["level"] = documents::word_of(made.worst());
    document["checks"] = std::move(checks);
    document["as_of"] = documents::now_text();
    return document;
}

// A store that cannot be asked at all is a finding as well.
health::diagnosis diagnose(const context& around) {
    try {
        return around.diagnose();
    } catch (const std::exception& error) {
        health::diagnosis made;
        made.findings.push_back({severity::fail, "reachability", error.what()});
        return made;
    }
}

awaitable<shared_document> examine(shared_context around) {
    auto looking = [around] { return diagnose(*around); };
    auto running = around->core->loop().run_blocking(std::move(looking));
    auto made = co_await std::move(running);
    if (around->records) {
        auto listing = around->records->list_nodes();
        const auto nodes = co_await std::move(listing);
        const auto zones = nodes.has_value() ? documents::zones_of(*nodes)
                                             : std::vector<std::pair<std::string, std::string>>{};
        if (!zones.empty()) made.findings.push_back(health::judge_zones(zones));
    }
    co_return std::make_shared<const json::object>(json_of(*around, made));
}

awaitable<http::response> show(std::shared_ptr<shared_diagnosis> last, shared_call asked) {
    auto getting = shared_diagnosis::get(last, diagnosis_age_max);
    const auto document = co_await std::move(getting);
    co_return tagged_response(*asked, *document, {"as_of"});
}

}  // namespace

routes doctor_routes(shared_context around) {
    auto make = [around = std::move(around)] { return examine(around); };
    const auto last = std::make_shared<shared_diagnosis>(std::move(make));
    return {{"GET", "/api/v1/doctor", access::viewer,
             [last](shared_call asked) { return show(last, std::move(asked)); }}};
}

}  // namespace pawl::api
