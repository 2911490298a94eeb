// Runs that begin and finish: the work that the journals' benchmarks measure.
#pragma once

#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>

namespace pawl::benchmarks {

run_start fresh_start();

// Throws when it was not begun or not finished.
boost::asio::awaitable<bool> run_once(std::shared_ptr<journal> in);

// So many at once, each `runs_each` after each other.
double runs_per_second(net::loop& where, const std::shared_ptr<journal>& in, int callers,
                       int runs_each);

}  // namespace pawl::benchmarks
