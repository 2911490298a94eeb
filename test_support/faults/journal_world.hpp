// A world (test_support/faults/world.hpp) with a journal in memory, which fails when told to.
#pragma once

#include "engines/memory/journal/memory_journal.hpp"
#include "engines/rules/journal/checked_journal.hpp"
#include "runtime/core.hpp"
#include "test_support/faults/faulty_journal.hpp"
#include "test_support/faults/world.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>
#include <string>
#include <utility>

namespace pawl {

struct journal_world : world {
    std::shared_ptr<testing_faults::journal_plan> journal_faults =
        std::make_shared<testing_faults::journal_plan>();
    // What the test itself looks at the journal with: it fails never.
    net::loop looking;
    std::shared_ptr<journal> records =
        journals::checked(memory::make_memory_journal(looking, settings.name_space, settings));

    // Of the processes that are opened from now on.
    millis recording_timeout = runtime::recording_timeout;

    locks open(open_options options = {}) { return open_node(faults, journal_faults, options); }

    // A process with faults of its own.
    locks open_node(std::shared_ptr<testing_faults::plan> own,
                    std::shared_ptr<testing_faults::journal_plan> own_journal,
                    open_options options = {}) {
        return open_on(settings, std::move(own), journal_of(std::move(own_journal)),
                       std::move(options));
    }
    locks open_with_journal(runtime::journal_maker make, open_options options = {}) {
        return open_on(settings, faults, std::move(make), std::move(options));
    }
    locks open_without_journal(open_options options = {}) {
        return open_on(settings, faults, {}, std::move(options));
    }
    // The journal is the same, and all leases are forgotten.
    locks open_with_fresh_store() {
        auto other = settings;
        other.name_space = fresh_name_space();
        return open_on(other, faults, journal_of(journal_faults), {});
    }

    // What a verb of the journal answers: ask([&] { return records->find_run(id); }).
    template <class Verb>
    auto ask(const Verb& verb) {
        return looking.wait_for(verb()).value();
    }
    run_record run_of(const std::string& id) {
        return ask([&] { return records->find_run(id); }).value();
    }

private:
    runtime::journal_maker journal_of(std::shared_ptr<testing_faults::journal_plan> plan) const {
        return [name = settings, plan](net::loop& where) {
            return journals::checked(testing_faults::make_faulty_journal(
                memory::make_memory_journal(where, name.name_space, name), plan));
        };
    }
    locks open_on(const store_settings& where, std::shared_ptr<testing_faults::plan> own,
                  runtime::journal_maker journal, open_options options) const {
        const auto make = [where, own](net::loop& loop) {
            return testing_faults::make_faulty_store(memory::make_memory_store(loop, where), own);
        };
        auto made =
            std::make_unique<runtime::core>(make, where, std::move(options), std::move(journal));
        made->recording_timeout = recording_timeout;
        return locks{std::move(made)};
    }
};

}  // namespace pawl
