#include "runs/unrun_occurrence.hpp"

#include <string>
#include <utility>

namespace pawl::runs {
namespace {

// Nothing has come of it: skipped, or begun and left, which is not resumed as it counts as done.
bool is_unrun(run_status how) { return how == run_status::skipped || how == run_status::abandoned; }

}  // namespace

async<std::optional<run_record>> record_unrun(std::shared_ptr<journal> where, run_start what,
                                              std::string_view why) {
    auto start = what;
    auto skipping = where->skip(std::move(start), std::string{why});
    const auto told = co_await std::move(skipping);
    if (told.has_error()) co_return told.error();
    if (*told) co_return std::optional<run_record>{};
    auto finding = where->find_occurrence(what.job, what.partition, *what.occurrence);
    auto found = co_await std::move(finding);
    if (found.has_value() && *found && is_unrun((*found)->status))
        co_return std::optional<run_record>{};
    co_return found;
}

}  // namespace pawl::runs
