#include "exec/descriptor_limit.hpp"

#include <algorithm>

namespace pawl::exec {

rlimit raise_descriptor_limit() {
    constexpr rlim_t wanted = 65'536;
    rlimit before{};
    if (getrlimit(RLIMIT_NOFILE, &before) != 0 || before.rlim_cur >= wanted) return before;
    rlimit raised = before;
    raised.rlim_cur = before.rlim_max == RLIM_INFINITY ? wanted : std::min(before.rlim_max, wanted);
    setrlimit(RLIMIT_NOFILE, &raised);
    return before;
}

void give_back_descriptor_limit(const rlimit& before) {
    rlimit now{};
    if (getrlimit(RLIMIT_NOFILE, &now) != 0) return;
    now.rlim_cur = std::min(before.rlim_cur, now.rlim_max);
    setrlimit(RLIMIT_NOFILE, &now);
}

}  // namespace pawl::exec
