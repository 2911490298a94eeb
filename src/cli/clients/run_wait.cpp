#include "cli/clients/run_wait.hpp"

#include <utility>

namespace pawl::cli {

void run_wait::see(seen_run look) {
    if (look.run) {
        has_begun_ = true;
        is_finished_ = pawl::is_finished(look.run->status);
        if (is_finished_) ended_ = std::move(look.run);
        return;
    }
    is_finished_ = !look.waits_for;
}

// A job keeps `keep_runs` rows, so that of a short run among many may be gone before the next look.
std::string_view run_wait::reason() const noexcept {
    return has_begun_ ? "started and is no longer recorded: how it ended is unknown"
                      : "was cancelled before it started, or is no longer recorded";
}

}  // namespace pawl::cli
