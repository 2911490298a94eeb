// An occurrence that counts as done at the store, though no run of it may have taken place: at most
// once, a runner that was killed before its first row has left no more than the mark.
#pragma once

#include <pawl/spi/journal.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

namespace pawl::cli {

// Why it may not have run. Nothing: it has, or the journal cannot tell. One that has no row is
// given one that says so. REQUIRES: `what` has an occurrence.
boost::asio::awaitable<std::optional<std::string>> doubt_about_run(std::shared_ptr<journal> rows,
                                                                   run_start what);

}  // namespace pawl::cli
