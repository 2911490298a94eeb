#include "test_support/faults/held_users.hpp"

#include <dlfcn.h>
#include <pwd.h>

#include <cerrno>
#include <string>

namespace pawl::testing_faults {

// Never destroyed, as a question may outlive main().
held_users& held_users::instance() {
    static auto* const only = new held_users;
    return *only;
}

void held_users::hang() {
    const std::lock_guard lock{mutex_};
    hangs_ = true;
}

void held_users::go_on() {
    const std::lock_guard lock{mutex_};
    hangs_ = false;
    changed_.notify_all();
}

void held_users::wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !hangs_; });
}

}  // namespace pawl::testing_faults

extern "C" int getpwnam_r(const char* name, passwd* entry, char* text, std::size_t size,
                          passwd** found) {
    using pawl::testing_faults::held_users;
    static auto* const real =
        reinterpret_cast<decltype(&getpwnam_r)>(dlsym(RTLD_NEXT, "getpwnam_r"));
    const std::string asked{name};
    if (asked == held_users::hung) held_users::instance().wait();
    *found = nullptr;
    if (asked == held_users::failing) return EMFILE;
    return real(name, entry, text, size, found);
}
