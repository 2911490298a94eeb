// What the conformance suite asks of an engine: a real one, started for the tests, with data that
// several clients and several processes reach.
//
// An engine adds src/engines/NAME/store/NAME_conformance.cpp to the CMake property
// PAWL_CONFORMANCE_SOURCES, with a type that models store_engine and one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, StoreLaws, NAME_engine);
#pragma once

#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::conformance {

enum class store_reach { one_process, many_processes };

// One object is made for all tests of the engine and destroyed after them; each test works in a
// namespace of its own. The constructor starts what is needed, and throws if it cannot.
template <class Engine>
concept store_engine =
    std::default_initializable<Engine> &&
    requires(Engine engine, net::loop& where, const std::string& address, store_settings settings) {
        // The folder under src/engines.
        { Engine::name() } -> std::convertible_to<std::string_view>;
        { Engine::reach() } -> std::same_as<store_reach>;
        // What another process needs to open the same data, such as a path or a URL.
        { engine.address() } -> std::convertible_to<std::string>;
        // Another client of the data at that address. Throws if it cannot be opened.
        { Engine::open_at(where, address, settings) } -> std::same_as<std::shared_ptr<lease_store>>;
        // The server is stopped and started again, with its data. Stores that were open before
        // need not work afterwards. An engine without a server does nothing.
        { engine.restart() };
        // The data of all namespaces is gone, as after the loss of a disk, and the engine cannot
        // know what it had granted. The address may change.
        { engine.lose_data() };
    };

// A hook more, of an engine that may be on a server which is not the suite's to empty.
template <class Engine>
concept may_keep_data = requires(const Engine engine) {
    { engine.can_lose_data() } -> std::same_as<bool>;
};

// And one of an engine where one record can be out of reach while the others are not: a row
// that another session keeps locked, a value that cannot be read. It is so until the object goes.
template <class Engine>
concept blocks_records = requires(Engine engine, const std::string& words) {
    // The name space and the key of a record that exists.
    { engine.block(words, words) } -> std::same_as<std::shared_ptr<void>>;
};

}  // namespace pawl::conformance
