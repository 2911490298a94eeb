#include "test_support/faults/known_names.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <chrono>

namespace pawl::testing_faults {

// Never destroyed, as a look-up may outlive main().
known_names& known_names::instance() {
    static auto* const only = new known_names;
    return *only;
}

void known_names::set(const std::string& name, const std::string& address) {
    const std::lock_guard lock{mutex_};
    addresses_[name] = address;
}

void known_names::hang(const std::string& name) {
    const std::lock_guard lock{mutex_};
    hanging_.insert(name);
}

void known_names::go_on() {
    const std::lock_guard lock{mutex_};
    hanging_.clear();
    changed_.notify_all();
}

int known_names::asked(const std::string& name) {
    const std::lock_guard lock{mutex_};
    return asked_[name];
}

bool known_names::wait_for_question(const std::string& name) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::chrono::seconds{10}, [&] { return waiting_[name] > 0; });
}

std::string known_names::look_up(const std::string& name) {
    std::unique_lock lock{mutex_};
    if (!addresses_.contains(name)) return name;
    ++asked_[name];
    ++waiting_[name];
    changed_.notify_all();
    changed_.wait(lock, [&] { return !hanging_.contains(name); });
    --waiting_[name];
    return addresses_[name];
}

}  // namespace pawl::testing_faults

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    static auto* const real =
        reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
    if (name == nullptr) return real(name, service, hints, found);
    const auto asked = pawl::testing_faults::known_names::instance().look_up(name);
    return real(asked.c_str(), service, hints, found);
}
