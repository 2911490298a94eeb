// What benchmarks/peers/run asks of a program: a request a line on stdin, its times on stdout.
//
//     pairs KEY COUNT          acquire and release KEY so many times: the time of each pair
//     crowd KEY CALLERS EACH   so many callers at once, KEY/0 and on: the time of all together
//     hand-over KEY HOLD       one client holds KEY for HOLD ms while another waits for it: the
//                              time from its release until the other one has it
//
// The answer is one line of JSON: {"nanos": [...]} or {"error": "..."}. Programs in other languages
// beside this file read and write the same.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace pawl::benchmarks {

using nanos = std::chrono::nanoseconds;

class participant {
public:
    virtual ~participant() = default;
    virtual void pair(const std::string& key) = 0;
    // Throw unless they are overridden.
    virtual nanos crowd(const std::string& key, int callers, int each);
    virtual nanos hand_over(const std::string& key, std::chrono::milliseconds hold);
};

// Answers requests until stdin ends. Returns the exit status.
int serve(const std::function<std::unique_ptr<participant>()>& open);

}  // namespace pawl::benchmarks
