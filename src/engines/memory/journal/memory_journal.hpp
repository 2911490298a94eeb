// A journal in the memory of one process: for tests, and for `memory:`.
//
// All journals of one process with the same name share one data set, which lives as long as the
// process, as the stores of src/engines/memory/store do.
#pragma once

#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/store_settings.hpp>

#include <memory>
#include <string>

namespace pawl::memory {

// `name` is that of the data set, such as the namespace.
std::shared_ptr<journal> make_memory_journal(net::loop& where, const std::string& name,
                                             store_settings settings);
// Over data of the caller's own.
struct journal_data;
std::shared_ptr<journal> make_memory_journal(std::shared_ptr<journal_data> data);

}  // namespace pawl::memory
