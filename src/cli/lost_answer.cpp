#include "cli/lost_answer.hpp"

#include "schedule/key_queue.hpp"

#include <utility>

namespace pawl::cli {

std::string lost_answer_text() {
    return std::string{schedule::text_of(schedule::skip_reason::answer_lost)};
}

async<std::optional<run_record>> record_lost_answer(std::shared_ptr<journal> where,
                                                    run_start what) {
    auto start = what;
    auto skipping = where->skip(std::move(start), lost_answer_text());
    const auto told = co_await std::move(skipping);
    if (told.has_error()) co_return told.error();
    if (*told) co_return std::optional<run_record>{};
    auto finding = where->find_occurrence(what.job, what.partition, *what.occurrence);
    auto found = co_await std::move(finding);
    if (found.has_value() && *found && (*found)->status == run_status::skipped)
        co_return std::optional<run_record>{};
    co_return found;
}

}  // namespace pawl::cli
