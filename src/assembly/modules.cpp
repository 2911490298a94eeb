#include "assembly/modules.hpp"

#include "base/text.hpp"

#include <pawl/version.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace pawl::assembly {
namespace {

static_assert(PAWL_VERSION == version);

// A module stays until the process ends: its code is behind every store that it has made.
struct library {
    void* handle;
    const engine_module* brings;
};

std::string last_fault() {
    const char* what = dlerror();
    return base::printable(what != nullptr ? what : "unknown fault");
}

[[noreturn]] void reject(const std::filesystem::path& file, const std::string& why) {
    throw option_error{"the engine module " + base::printable(file.string()) + " " + why};
}

void check_fit(const std::filesystem::path& file, std::uint32_t made_for) {
    if (made_for == engine_interface) return;
    reject(file, "is made for version " + std::to_string(made_for) +
                     " of the engine interface, and this pawl has version " +
                     std::to_string(engine_interface) + ": install the two of one release");
}

library open_library(const std::filesystem::path& file) {
    // Its own symbols stay its own; the core's are those of the program.
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const auto why = last_fault();
        // Of the core, which a static program does not show to others.
        const bool is_static = why.find("undefined symbol: _Z") != std::string::npos &&
                               why.find("4pawl") != std::string::npos;
        reject(file, "cannot be loaded: " + why +
                         (is_static ? ": a program that is linked with a static pawl loads no "
                                      "modules; link pawl::NAME instead"
                                    : ""));
    }
    const auto* made_for =
        static_cast<const std::uint32_t*>(dlsym(handle, "pawl_engine_interface"));
    using entry_point = const engine_module* (*)();
    const auto entry = reinterpret_cast<entry_point>(dlsym(handle, "pawl_engine_module"));
    if (made_for == nullptr || entry == nullptr)
        reject(file, "is not an engine of pawl: PAWL_ENGINE_MODULE is not in it");
    // Before anything whose shape depends on it is touched.
    check_fit(file, *made_for);
    const auto* brings = entry();
    if (!brings->built_with.empty() && brings->built_with != PAWL_VERSION)
        reject(file, "is built with pawl " + base::printable(brings->built_with) +
                         ", and this is " PAWL_VERSION ": install the two of one release");
    return {handle, brings};
}

// Of the program, or of the shared library that this is linked into.
std::filesystem::path own_folder() {
    Dl_info here{};
    static const int somewhere = 0;
    std::error_code fault;
    if (dladdr(&somewhere, &here) != 0 && here.dli_fname != nullptr) {
        // The name of a program is as it was typed.
        const auto program = std::filesystem::read_symlink("/proc/self/exe", fault);
        const std::filesystem::path named{here.dli_fname};
        if (!fault && named.filename() == program.filename()) return program.parent_path();
        const auto whole = std::filesystem::canonical(named, fault);
        if (!fault) return whole.parent_path();
        fault.clear();
    }
    return std::filesystem::read_symlink("/proc/self/exe", fault).parent_path();
}

}  // namespace

std::vector<std::filesystem::path> module_folders() {
    std::vector<std::filesystem::path> all;
    if (const char* named = secure_getenv("PAWL_ENGINE_PATH")) {
        std::string_view rest{named};
        while (!rest.empty()) {
            const auto one = rest.substr(0, rest.find(':'));
            if (!one.empty()) all.emplace_back(one);
            rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        }
    }
    // To ask for it is to look through all symbols of the program.
    static const auto own = own_folder();
    // bin/pawl, lib/libpawl.so or lib/pawl/pawl, and lib/pawl/engines/*.so.
    all.push_back((own / PAWL_ENGINE_DIR_FROM_BIN).lexically_normal());
    all.push_back(own / "pawl" / "engines");
    all.push_back(own / "engines");
    return all;
}

std::optional<std::filesystem::path> find_module(std::string_view name) {
    std::error_code fault;
    for (const auto& folder : module_folders()) {
        auto file = folder / (std::string{name} + ".so");
        if (std::filesystem::is_regular_file(file, fault)) return file;
    }
    return std::nullopt;
}

const engine_module& load_module(const std::filesystem::path& file) {
    static std::mutex loading;
    static std::map<std::filesystem::path, library> loaded;
    const std::lock_guard guard{loading};
    std::error_code fault;
    auto whole = std::filesystem::canonical(file, fault);
    if (fault) whole = file;
    auto known = loaded.find(whole);
    if (known == loaded.end()) known = loaded.emplace(whole, open_library(whole)).first;
    return *known->second.brings;
}

}  // namespace pawl::assembly
