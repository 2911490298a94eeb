// All locks of the store, read some at a time.
//
// A client may hold any number of keys, and chooses their names. So the keys of jobs, which no
// client can take, are read behind the bound on all keys too.
#pragma once

#include "api/request/context.hpp"

#include <pawl/results.hpp>
#include <pawl/spi/async.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace pawl::api {

// How far a look has come.
struct lock_reach {
    std::string last{};          // among all keys; empty: it has met each
    std::string last_of_jobs{};  // among those of jobs behind it; empty: it has met each

    bool is_whole() const noexcept { return last.empty(); }
    // It has met this key, if there is such a lock.
    bool covers(std::string_view key) const noexcept;
};

// Handed each record, in byte order of the keys but for those of jobs behind the bound.
using lock_visitor = std::function<void(record)>;

// The first `most` keys or a few more, and behind them as many of jobs. Where the store fails, what
// has been read was handed over.
async<lock_reach> visit_locks(shared_context around, std::size_t most, lock_visitor look);

}  // namespace pawl::api
