// Rows of runs, read some at a time.
//
// Each may have a checkpoint of 64 KiB, so a page of a thousand has 64 MiB. Who needs many rows
// looks at each as it comes, and keeps what is needed of it.
#pragma once

#include "api/request/context.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace pawl::api {

// The first page, and any other: what the rows of the one before have saved says how many.
constexpr std::size_t rows_read_first = 32;
constexpr std::size_t rows_read_most = 128;

// A checkpoint that is longer is told of its run alone, and of no event.
constexpr std::size_t checkpoint_told_max = 1024;

// Gives the memory back as well, which an assignment need not.
inline void drop_checkpoint(run_record& run) { std::string{}.swap(run.checkpoint); }
inline void drop_long_checkpoint(run_record& run) {
    if (run.checkpoint.size() > checkpoint_told_max) drop_checkpoint(run);
}

// Handed each row, the newest begun first; false: no more are wanted. Others have their turn on the
// loop between two rows.
using row_visitor = std::function<bool(run_record)>;

// At most `most` rows. True where the list ends with them.
async<bool> visit_runs(shared_context around, run_filter which, std::size_t most, row_visitor look);

enum class visit_end {
    list_over,
    enough,    // as many as were wanted
    no_index,  // the journal has looked at many rows for few, and has not come to the end
};
// The same, for rows that are few among many: a journal without an index of them would be read to
// its end.
async<visit_end> visit_indexed_runs(shared_context around, run_filter which, std::size_t most,
                                    row_visitor look);

}  // namespace pawl::api
