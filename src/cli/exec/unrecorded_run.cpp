#include "cli/exec/unrecorded_run.hpp"

#include "base/reserved_names.hpp"
#include "cli/output/output.hpp"
#include "time/clocks.hpp"

#include <chrono>
#include <utility>

namespace pawl::cli {
namespace {

// Of an older one the row may have been let go of, or it ran before there was a journal.
constexpr std::chrono::hours remembered{24};
const std::string unrecorded =
    "no run of it is recorded: its runner was lost before it recorded one, or kept no journal";

bool is_remembered(occurrence which) {
    const auto now = time::wall_now().time_since_epoch();
    return millis{number(which)} > std::chrono::floor<millis>(now) - remembered;
}

}  // namespace

boost::asio::awaitable<std::optional<std::string>> doubt_about_run(std::shared_ptr<journal> rows,
                                                                   run_start what) {
    // The runs of an agent's job are recorded under its name.
    if (base::is_reserved_name(what.key)) co_return std::nullopt;
    auto finding = rows->find_occurrence(what.job, what.partition, *what.occurrence);
    const auto found = co_await std::move(finding);
    if (found.has_error()) {
        log(log_level::debug, "run not looked up: " + found.error().detail);
        co_return std::nullopt;
    }
    if (const auto& row = *found) {
        if (row->status == run_status::lost) co_return "its run " + row->id + " was lost";
        if (row->status == run_status::skipped) co_return row->reason;
        co_return std::nullopt;
    }
    if (!is_remembered(*what.occurrence)) co_return std::nullopt;
    // Where another client has written a row meanwhile, the next reader finds that.
    auto skipping = rows->skip(std::move(what), unrecorded);
    const auto told = co_await std::move(skipping);
    if (told.has_error()) log(log_level::warn, "run not recorded: " + told.error().detail);
    co_return unrecorded;
}

}  // namespace pawl::cli
