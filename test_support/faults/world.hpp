// A world of its own for each test of the facade: a store in memory that fails when told to, and
// `locks` that stand for processes.
#pragma once

#include "engines/memory/store/memory_store.hpp"
#include "net/loop.hpp"
#include "runtime/core.hpp"
#include "test_support/faults/faulty_store.hpp"

#include <pawl/locks.hpp>

#include <atomic>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>

namespace pawl {

inline std::string fresh_name_space() {
    static std::atomic<int> count{0};
    return "runtime-test-" + std::to_string(++count);
}

struct world {
    store_settings settings{.name_space = fresh_name_space()};
    std::shared_ptr<testing_faults::plan> faults = std::make_shared<testing_faults::plan>();

    locks open(open_options options = {}) { return open_with(faults, std::move(options)); }

    // A process with faults of its own.
    locks open_with(std::shared_ptr<testing_faults::plan> own, open_options options = {}) {
        const auto make = [this, own](net::loop& where) {
            return testing_faults::make_faulty_store(memory::make_memory_store(where, settings),
                                                     own);
        };
        return locks{std::make_unique<runtime::core>(make, settings, std::move(options))};
    }
};

// Of what nothing came of.
template <class Held>
bool rejected(const acquired<Held>& what) {
    return !what;
}

inline void wait_for_stop(const std::stop_token& stop) {
    std::latch stopped{1};
    const std::stop_callback on_stop{stop, [&] { stopped.count_down(); }};
    stopped.wait();
}

}  // namespace pawl
