// Users for whom the directory of a test program hangs, or fails: it stands before the system's.
#pragma once

#include <condition_variable>
#include <mutex>

namespace pawl::testing_faults {

// Thread-safe.
class held_users {
public:
    static constexpr const char* hung = "hung-user";
    static constexpr const char* failing = "failing-user";  // no descriptor is left

    static held_users& instance();
    void hang();
    void go_on();
    void wait();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool hangs_ = false;  // under mutex_
};

}  // namespace pawl::testing_faults
