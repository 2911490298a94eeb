// What the suite of journals asks of an engine: a real one, started for the tests, with data that
// several clients and several processes reach.
//
// An engine adds src/engines/NAME/journal/NAME_journal_conformance.cpp to the CMake property
// PAWL_JOURNAL_CONFORMANCE_SOURCES, its name to PAWL_JOURNAL_ENGINES and its libraries to
// PAWL_JOURNAL_CONFORMANCE_LIBRARIES, with a type that models journal_engine and one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, JournalLaws, NAME_engine);
// Its modes are instantiated under names that begin with the engine's: NAME_cluster.
#pragma once

#include "net/loop.hpp"
#include "test_support/conformance/store_engine.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/store_settings.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::conformance {

// One object is made for all tests of the engine and destroyed after them; each test works in a
// namespace of its own. The constructor starts what is needed, and throws if it cannot.
template <class Engine>
concept journal_engine =
    std::default_initializable<Engine> &&
    requires(Engine engine, net::loop& where, const std::string& address, store_settings settings) {
        // The name under which it is instantiated, with its mode.
        { Engine::name() } -> std::convertible_to<std::string_view>;
        { Engine::reach() } -> std::same_as<store_reach>;
        // What another process needs to open the same data, such as a path or a URL.
        { engine.address() } -> std::convertible_to<std::string>;
        // Another client of the data at that address. Throws if it cannot be opened.
        { Engine::open_at(where, address, settings) } -> std::same_as<std::shared_ptr<journal>>;
        // The server is stopped and started again, with its data. Journals that were open before
        // need not work afterwards. An engine without a server does nothing.
        { engine.restart() };
    };

}  // namespace pawl::conformance
