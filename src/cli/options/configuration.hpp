// The options that every subcommand takes: a flag beats the environment, which beats the file.
#pragma once

#include "runtime/core.hpp"

#include <pawl/locks.hpp>

#include <memory>
#include <optional>
#include <string>

namespace pawl::cli {

struct globals {
    std::optional<std::string> store;
    std::optional<std::string> journal;
    std::optional<std::string> config;
    std::optional<std::string> url;  // of an agent whose API is asked instead
    std::string log_level = "info";
    std::string log_format = "text";
    std::string color = "auto";
    bool json = false;
    bool verbose = false;
};

struct chosen_store {
    std::string url;
    std::string
        from;  // where the URL came from, for messages: "--store", "PAWL_STORE", a file, "default"
};

// The store's URL by precedence. Throws exit_error for a configuration file that cannot be read.
chosen_store choose_store(const globals& options);

// The journal's URL by the same precedence; empty when none is named, which means the store.
chosen_store choose_journal(const globals& options);

// Opens it. Throws exit_error with the status that fits what is wrong.
locks open_locks(const globals& options, open_options how = {});

// The same with the journal beside it, which is opened when it is first asked for.
// `around`, where it is given, stands between the store and its callers.
std::unique_ptr<runtime::core> open_core(
    const globals& options, open_options how = {},
    const std::function<runtime::store_maker(runtime::store_maker)>& around = {});

void set_up_logging(const globals& options);

bool color_wanted(const globals& options, int descriptor);

}  // namespace pawl::cli
