// Many steps of one piece of work, some of them at a time: the way to a server and back is paid
// once for several, and the server is not asked everything at once.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>

#include <cstddef>
#include <functional>

namespace pawl::net {

// One step, by its number. Does not throw. Steps may outlive their caller, so they own
// what they use.
using bounded_step = std::function<async<void>(std::size_t)>;

// Does `step` for 0 to `count` - 1, at most `at_once` of them at a time, and ends with the last.
// The first failure is the answer: no step is begun behind it, and those under way are waited for.
// `unreachable` when the deadline came before, or Asio cancelled the wait.
async<void> for_each_bounded(std::size_t count, std::size_t at_once, bounded_step step,
                             instant deadline = instant::max());

}  // namespace pawl::net
