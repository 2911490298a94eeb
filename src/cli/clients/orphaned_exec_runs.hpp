// The rows of `pawl exec` and of `locks::run` whose process was killed: where no agent runs, the
// next reader ends them.
#pragma once

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pawl::cli {

// Of the lock with this key.
using lock_reader = std::function<async<std::optional<record>>(std::string key)>;

// Those of one key, or of all where it is empty. What fails is left to the next reader: it is told
// at debug level. Await it on the loop of the journal.
boost::asio::awaitable<void> judge_orphaned_exec_runs(std::shared_ptr<journal> rows,
                                                      std::string key, lock_reader inspect);

}  // namespace pawl::cli
