#include "benchmarks/wakefulness.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>

namespace pawl::benchmarks {
namespace {

[[noreturn]] void spin() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const sched_param least{};
    if (sched_setscheduler(0, SCHED_IDLE, &least) != 0) _exit(1);
    for (volatile unsigned turns = 0;;) turns = turns + 1;
}

}  // namespace

wakefulness::wakefulness() {
    for (unsigned core = 0; core < std::thread::hardware_concurrency(); ++core) {
        const auto child = fork();
        if (child < 0) throw std::runtime_error{"cannot fork"};
        if (child == 0) spin();
        spinners_.push_back(child);
    }
}

wakefulness::~wakefulness() {
    for (const auto one : spinners_) {
        kill(one, SIGKILL);
        waitpid(one, nullptr, 0);
    }
}

}  // namespace pawl::benchmarks
