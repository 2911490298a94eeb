#include "api/jobs/run_rows.hpp"

#include "api/limits/cooperative_yield.hpp"
#include "api/request/list_writer.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::api {
namespace {

// Of a row beside its checkpoint, about.
constexpr std::size_t row_bytes = 1024;

std::size_t bytes_of(const run_page& page) {
    std::size_t bytes = 0;
    for (const auto& one : page.records) bytes += row_bytes + one.checkpoint.size();
    return bytes;
}

std::size_t rows_after(const run_page& page) {
    if (page.records.empty()) return rows_read_first;
    const auto bytes_of_one = std::max(bytes_of(page) / page.records.size(), row_bytes);
    return std::clamp<std::size_t>(page_bytes_max / bytes_of_one, 1, rows_read_most);
}

enum class reach { to_the_end, to_a_short_page };

async<visit_end> visit(shared_context around, run_filter which, std::size_t most, row_visitor look,
                       reach how_far) {
    std::string after;
    std::size_t rows = rows_read_first;
    cooperative_yield turn{around->core->loop()};
    while (most > 0) {
        rows = std::min(rows, most);
        const auto asked = rows;
        auto listing = around->records->list_runs(which, std::move(after), rows);
        auto page = co_await std::move(listing);
        if (page.has_error()) co_return std::move(page).error();
        const bool is_short = page->records.size() < asked;
        most -= std::min(most, page->records.size());
        rows = rows_after(*page);
        after = std::move(page->next);
        for (auto& one : page->records) {
            if (!look(std::move(one))) co_return visit_end::enough;
            if (!turn.is_due()) continue;
            auto turning = turn.give_turn();
            co_await std::move(turning);
        }
        if (after.empty()) co_return visit_end::list_over;
        if (is_short && how_far == reach::to_a_short_page) co_return visit_end::no_index;
    }
    co_return visit_end::enough;
}

}  // namespace

async<bool> visit_runs(shared_context around, run_filter which, std::size_t most,
                       row_visitor look) {
    auto visiting =
        visit(std::move(around), std::move(which), most, std::move(look), reach::to_the_end);
    const auto end = co_await std::move(visiting);
    if (end.has_error()) co_return end.error();
    co_return *end == visit_end::list_over;
}

async<visit_end> visit_indexed_runs(shared_context around, run_filter which, std::size_t most,
                                    row_visitor look) {
    return visit(std::move(around), std::move(which), most, std::move(look),
                 reach::to_a_short_page);
}

}  // namespace pawl::api
