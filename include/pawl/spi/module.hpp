// How an engine is found: what a shared object shows so that a store's URL can name it.
//
// A URL's scheme chooses the engine. Those that are linked in are asked first (`register_engines()`
// adds to them). Else `pawl-SCHEME.so` is looked for in the folders of PAWL_ENGINE_PATH, and where
// pawl's own modules are installed. The page "Engines" of the documentation writes one from
// beginning to end.
#pragma once

#include <pawl/connections.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/store.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

namespace net {
class loop;
}

// The version of the interface between pawl and its modules: of the headers in <pawl/spi/…> and all
// that they include. It rises whenever a module has to be built anew. A module that was made for
// another version is rejected.
constexpr std::uint32_t engine_interface = 4;

// Where an engine runs. One thread at a time drives the executor, and every verb is awaited on it.
struct engine_context {
    // For all that the engine does.
    boost::asio::any_io_executor executor;

    // Pawl's own, for engines that are built from its source: yours needs none. Never null.
    // Borrowed: it outlives the engine.
    net::loop* loop;

    // open_options::connections. A URL with anything in engine_plan::connects_by comes without one
    // for its engine.
    connection_factories connections{};
};

// What one URL asks for. Both functions throw store_error if the store cannot be opened. The first
// verb contacts a server, not these.
struct engine_plan {
    // What the URL says that concerns every engine.
    store_settings settings{};

    // Called once for each locks::open(), on its thread. Must not return null.
    std::function<std::shared_ptr<lease_store>(const engine_context&)> make{};

    // Called on the executor with the first use of the journal, and again after it threw. Empty:
    // the engine keeps no journal of runs.
    std::function<std::shared_ptr<journal>(const engine_context&)> make_journal{};

    // What the URL says about where and how to connect, such as "sslmode=", which cannot hold over
    // a connection of the application's own. Empty: nothing.
    std::string connects_by{};

    // What the URL lacks unless the application gives the connections, such as a host, as a whole
    // line for an option_error. Empty: nothing.
    std::string lacks{};
};

// One engine of a module.
struct engine_entry {
    // Of the engine, for people: 1 to 64 bytes of [a-z0-9_-].
    std::string_view name;

    // Of its URLs, without the colon.
    std::vector<std::string_view> schemes;

    // The library it uses, such as "hiredis 0.14.1"; may be empty.
    std::string_view library;

    // Throws option_error for what is wrong with the URL, in one line without its secret. Called
    // from any thread.
    engine_plan (*plan)(std::string_view url);
};

// Everything that a module brings. It stays loaded until the process ends.
struct engine_module {
    // Leave it as it is.
    std::uint32_t made_for = engine_interface;

    // The version of pawl whose internals it uses. Empty: it uses the public headers only.
    std::string_view built_with{};

    // One for each scheme.
    std::vector<engine_entry> engines{};
};

// Adds engines that are linked into the program. Their URLs are known from then on, before those of
// modules. Call it before the first locks::open(). The module is copied; the texts that its
// string_views show must live until the process ends. Throws option_error for a scheme that is
// taken. Thread-safe.
void register_engines(const engine_module& module);

}  // namespace pawl

// Stands once in a module, outside any namespace, and is given an expression of type engine_module:
//     PAWL_ENGINE_MODULE(pawl::engine_module{.engines = {{"ledger", {"ledger"}, "", plan_ledger}}})
#define PAWL_ENGINE_MODULE(...)                                                        \
    extern "C" __attribute__((visibility("default"), used))                            \
    const std::uint32_t pawl_engine_interface = pawl::engine_interface;                \
    extern "C" __attribute__((visibility("default"), used)) const pawl::engine_module* \
    pawl_engine_module() {                                                             \
        static const pawl::engine_module module = __VA_ARGS__;                         \
        return &module;                                                                \
    }                                                                                  \
    static_assert(true, "a semicolon follows")
