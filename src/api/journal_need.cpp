#include "api/journal_need.hpp"

#include "api/problem.hpp"

#include <utility>

namespace pawl::api {
namespace {

boost::asio::awaitable<http::response> refuse() {
    co_return problem(
        501,
        "this agent keeps no journal, so it knows no runs, jobs or nodes: name one in "
        "its configuration with journal = \"…\"");
}

}  // namespace

answerer with_journal(shared_context around, journal_answer answer) {
    return [around = std::move(around), answer = std::move(answer)](shared_call asked) {
        return around->records ? answer(around, std::move(asked)) : refuse();
    };
}

}  // namespace pawl::api
