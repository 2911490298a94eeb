#include "cli/silent_runs.hpp"

#include "cli/output.hpp"
#include "cli/status.hpp"
#include "runs/silence.hpp"

#include <cstddef>

namespace pawl::cli {
namespace {

constexpr std::size_t seen_at_once_max = 100, seen_max = 10'000;

// An agent's runs are its own, or another agent's, to judge: they go on writing about one for a
// while when the journal was away. `pawl exec` does not, so that nothing is in doubt.
bool is_for_us(const run_record& run, const std::string& key) {
    return run.trigger == "exec" && (key.empty() || run.key == key);
}

// True when it is over now.
bool judge(net::loop& loop, journal& rows, const run_record& one,
           const std::function<std::optional<record>(const std::string&)>& inspect) {
    const auto told = runs::judge_silence(one, inspect(one.key));
    if (told.what == runs::silence::alive) return false;
    run_mark who{one.id, one.token};
    if (!loop.wait_for(rows.judge(std::move(who), told.how)).value()) return false;
    log(log_level::debug, "run " + std::string{name_of(told.how.status)} + " key=" + one.key +
                              " run=" + one.id + ": " + told.how.reason);
    return true;
}

}  // namespace

void judge_silent_runs(net::loop& loop, journal& rows, const std::string& key,
                       const std::function<std::optional<record>(const std::string&)>& inspect) {
    try {
        std::size_t seen = 0, left = 0;
        while (seen < seen_max) {
            const auto silent = loop.wait_for(rows.stale_runs(seen_at_once_max, left)).value();
            seen += silent.size();
            if (silent.empty()) break;
            for (const auto& one : silent)
                if (!is_for_us(one, key) || !judge(loop, rows, one, inspect)) ++left;
        }
    } catch (const store_error& error) {
        log(log_level::debug, std::string{"stale runs not resolved: "} + error.what());
    } catch (const exit_error& error) {
        log(log_level::debug, std::string{"stale runs not resolved: "} + error.what());
    }
}

}  // namespace pawl::cli
