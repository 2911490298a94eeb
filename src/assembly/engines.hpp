// From a store URL to a store: which engine its scheme names, and where that engine is.
#pragma once

#include "runtime/core.hpp"

#include <pawl/connections.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/spi/module.hpp>
#include <pawl/spi/store_settings.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::assembly {

// An engine of this source. Those that are not linked in come as modules.
struct engine_info {
    std::string_view name;  // also the folder in src/engines
    std::vector<std::string_view> schemes;
    std::string_view option;  // of CMake; empty when always linked in
    std::string_view module;  // the file without `.so`, and the Debian package; empty as above
    bool linked_in = false;
    std::string_view
        library;  // what it was built with, such as "hiredis 0.14.1"; of those linked in
};

// Every engine that this source knows, whether it is there or not.
const std::vector<engine_info>& known_engines();

struct store_plan {
    std::string engine{};
    std::string shown{};  // the URL without its secret
    store_settings settings;
    runtime::store_maker make;  // throws store_error if the store cannot be opened
    // Empty where the engine keeps no journal. Throws as `make` does.
    runtime::journal_maker make_journal;
};

// Throws option_error for what is wrong with the URL, in one line without the secret, and for an
// engine whose module is missing or does not fit, and for what does not go with connections of the
// application's. Loads the module.
store_plan plan_store(std::string_view url, const connection_factories& own = {});

// Where runs are recorded: at `journal`, or, when that is empty, in the store, if it can. Empty
// when it cannot. Throws option_error for a journal whose engine keeps none.
runtime::journal_maker plan_journal(std::string_view store, std::string_view journal,
                                    const connection_factories& own = {});

// Both on one loop. Throws option_error also for a function of `options.connections` that neither
// of them calls. `around`, where it is given, stands between the store and its callers.
std::unique_ptr<runtime::core> open_core(
    std::string_view store, std::string_view journal, open_options options,
    const std::function<runtime::store_maker(runtime::store_maker)>& around = {});

// sqlite:/var/lib/pawl/pawl.db for root, else sqlite:$XDG_STATE_HOME/pawl/pawl.db. Creates the
// folder. Throws option_error when there is no home to put it in.
std::string default_store_url();

}  // namespace pawl::assembly
