// The statements of the store.
#pragma once

#include "engines/mysql/client/session.hpp"
#include "engines/mysql/client/statement.hpp"

namespace pawl::mysql {

// All of them, parsed once.
struct statements {
    statement acquire_record, acquire, acquire_occurrence, rejection, withdraw, renew, release,
        release_done, force_release, list, held, fence, fence_rejection, sweep, purge, schema,
        layout, whole, report;

    // The ordinary ones, which are prepared: acquire_record for a claim without an occurrence, and
    // for one at least and at most once; release at once.
    statement acquire_free, acquire_due, acquire_due_once, release_now;

    static const statements& all();
};

const table_plan& lease_tables();

}  // namespace pawl::mysql
