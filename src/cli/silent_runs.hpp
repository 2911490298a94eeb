// The rows of `pawl exec` whose process was killed: where no agent runs, the next reader ends
// them.
#pragma once

#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <functional>
#include <optional>
#include <string>

namespace pawl::cli {

// Blocks. Those of one key, or of all where it is empty. `inspect` throws store_error or
// exit_error. What fails is left to the next reader: it is told at debug level.
void judge_silent_runs(net::loop& loop, journal& rows, const std::string& key,
                       const std::function<std::optional<record>(const std::string&)>& inspect);

}  // namespace pawl::cli
