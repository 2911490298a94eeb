// The statements of the store.
#pragma once

#include "engines/mysql/client/session.hpp"
#include "engines/mysql/client/statement.hpp"

namespace pawl::mysql {

// All of them, parsed once.
struct statements {
    statement acquire_record, acquire, acquire_occurrence, refusal, withdraw, renew, release,
        release_done, force_release, list, held, fence, fence_refusal, sweep, purge, schema, layout,
        whole, report;

    static const statements& all();
};

const table_plan& lease_tables();

}  // namespace pawl::mysql
