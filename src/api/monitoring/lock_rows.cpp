#include "api/monitoring/lock_rows.hpp"

#include "api/limits/cooperative_yield.hpp"
#include "base/reserved_names.hpp"

#include <pawl/spi/lease_store.hpp>

#include <utility>

namespace pawl::api {
namespace {

// Answers with the key behind which there is more; empty: there is none.
async<std::string> visit(shared_context around, std::string prefix, std::string after,
                         std::size_t most, lock_visitor look) {
    std::size_t seen = 0;
    cooperative_yield turn{around->core->loop()};
    do {
        auto listing = around->core->running()->store().list(prefix, after, page_limit_max);
        auto page = co_await std::move(listing);
        if (page.has_error()) co_return std::move(page).error();
        seen += page->records.size();
        after = std::move(page->next);
        for (auto& one : page->records) {
            look(std::move(one));
            if (!turn.is_due()) continue;
            auto turning = turn.give_turn();
            co_await std::move(turning);
        }
    } while (!after.empty() && seen < most);
    co_return after;
}

}  // namespace

bool lock_reach::covers(std::string_view key) const noexcept {
    if (last.empty() || key <= last) return true;
    return key.starts_with(base::job_key_prefix) && (last_of_jobs.empty() || key <= last_of_jobs);
}

async<lock_reach> visit_locks(shared_context around, std::size_t most, lock_visitor look) {
    auto visiting = visit(around, "", "", most, look);
    auto last = co_await std::move(visiting);
    if (last.has_error()) co_return std::move(last).error();
    lock_reach reach;
    reach.last = std::move(*last);
    if (reach.is_whole()) co_return reach;
    std::string prefix{base::job_key_prefix};
    auto going_on = visit(around, std::move(prefix), reach.last, most, std::move(look));
    auto last_of_jobs = co_await std::move(going_on);
    if (last_of_jobs.has_error()) co_return std::move(last_of_jobs).error();
    reach.last_of_jobs = std::move(*last_of_jobs);
    co_return reach;
}

}  // namespace pawl::api
