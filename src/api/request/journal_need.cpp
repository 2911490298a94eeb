#include "api/request/journal_need.hpp"

#include "api/request/problem.hpp"
#include "api/route_caches.hpp"

#include <chrono>
#include <utility>

namespace pawl::api {
namespace {

boost::asio::awaitable<http::response> reject() {
    co_return problem(
        501,
        "this agent keeps no journal, so it knows no runs, jobs or nodes: name one in "
        "its configuration with journal = \"…\"");
}

}  // namespace

answerer with_journal(shared_context around, journal_answer answer) {
    return [around = std::move(around), answer = std::move(answer)](shared_call asked) {
        return around->records ? answer(around, std::move(asked)) : reject();
    };
}

std::optional<http::response> changes_fault(const context& around, const call& asked) {
    const auto wait = around.remembered->changes.wait_of(asked.who.name, around.core->loop().now());
    if (!wait) return std::nullopt;
    auto rejected = problem(429, "you have paused, resumed, run and cancelled " +
                                     std::to_string(changes_per_hour_max) +
                                     " times in this hour, each of which is in the audit; try "
                                     "again later");
    rejected.set("Retry-After",
                 std::to_string(std::chrono::ceil<std::chrono::seconds>(*wait).count()));
    return rejected;
}

boost::asio::awaitable<void> audit_change(shared_context around, shared_call asked,
                                          std::string action, std::string target,
                                          std::string detail) {
    around->remembered->changes.count(asked->who.name, around->core->loop().now());
    auto telling =
        audit(around, asked->who.name, std::move(action), std::move(target), std::move(detail));
    co_await std::move(telling);
}

}  // namespace pawl::api
