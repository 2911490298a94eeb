// Leases in the memory of one process: for tests, for `memory:`, and for jobs of threads.
//
// All stores of one process with the same namespace share one data set, which lives as long as the
// process, so that tokens rise and occurrences stay done however often a store is opened and
// closed.
#pragma once

#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <memory>

namespace pawl::memory {

std::shared_ptr<lease_store> make_memory_store(net::loop& where, store_settings settings);
// Over data of the caller's own.
class data_set;
std::shared_ptr<lease_store> make_memory_store(net::loop& where, store_settings settings,
                                               std::shared_ptr<data_set> data);

}  // namespace pawl::memory
