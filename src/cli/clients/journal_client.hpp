// The journal, for commands that ask it one thing after the other.
#pragma once

#include "cli/clients/actor.hpp"
#include "cli/options/configuration.hpp"
#include "cli/output/status.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <boost/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::cli {

// For a store that keeps no journal, where none is named beside it.
exit_error journal_missing();
// Whether there is one, for a command that needs none. Opens nothing; throws exit_error for a URL
// that is none.
bool keeps_journal(const globals& options);

class journal_client {
public:
    // Throws exit_error where there is none, and store_error where it cannot be opened.
    explicit journal_client(const globals& options);

    // Blocks for the answer; throws store_error.
    template <class T>
    T ask(async<T> asking) {
        return loop_.wait_for(std::move(asking)).value();
    }
    journal& verbs() { return *journal_; }
    std::shared_ptr<journal> shared_verbs() const { return journal_; }
    net::loop& loop() { return loop_; }

private:
    net::loop loop_;
    std::shared_ptr<journal> journal_;
};

// Records what a user did. Throws store_error.
void audit(journal_client& where, std::string action, std::string target, std::string detail);

// The entry of a job that some agent has published. Throws exit_error, with the nearest name, where
// there is none.
job_entry known_job(journal_client& where, const std::string& name);

// All entries.
std::vector<job_entry> known_jobs(journal_client& where);

}  // namespace pawl::cli
