// Several coroutines that do steps of one piece of work side by side, so that the way to the
// cluster and back is paid once for many of them.
#pragma once

#include "stores/etcd/bell.hpp"

#include <pawl/spi/async.hpp>

#include <cstddef>
#include <functional>

namespace pawl::etcd {

// One step, by its number. Steps may outlive whoever asked for them, so they own what they use.
using crew_step = std::function<async<void>(std::size_t)>;

// Ends when all steps are done, at the first failure, or at the deadline.
async<void> do_together(net::loop::executor_type executor, std::size_t steps, std::size_t workers,
                        crew_step step, instant deadline);

}  // namespace pawl::etcd
