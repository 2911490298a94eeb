#include "pawl/silent_runs.hpp"

#include "pawl/output.hpp"
#include "pawl/status.hpp"
#include "runtime/silent_run.hpp"

#include <cstddef>

namespace pawl::app {
namespace {

constexpr std::size_t judged_at_once_max = 100;

// An agent's runs are its own, or another agent's, to judge: they go on writing about one for a
// while when the journal was away. `pawl exec` does not, so that nothing is in doubt.
bool is_for_us(const run_record& run, const std::string& key) {
    return run.trigger == "exec" && (key.empty() || run.key == key);
}

}  // namespace

void judge_silent_runs(net::loop& loop, journal& rows, const std::string& key,
                       const std::function<std::optional<record>(const std::string&)>& inspect) {
    try {
        const auto silent = loop.wait_for(rows.stale_runs(judged_at_once_max)).value();
        for (const auto& one : silent) {
            if (!is_for_us(one, key)) continue;
            const auto told = runtime::judge_silence(one, inspect(one.key));
            if (told.what == runtime::silence::alive) continue;
            run_mark who{one.id, one.token};
            if (loop.wait_for(rows.judge(std::move(who), told.how)).value())
                log(log_level::debug, "run " + one.id + " of '" + one.key + "' is " +
                                          std::string{name_of(told.how.status)} + ": " +
                                          told.how.reason);
        }
    } catch (const store_error& error) {
        log(log_level::debug, std::string{"silent runs stay as they are: "} + error.what());
    } catch (const exit_error& error) {
        log(log_level::debug, std::string{"silent runs stay as they are: "} + error.what());
    }
}

}  // namespace pawl::app
