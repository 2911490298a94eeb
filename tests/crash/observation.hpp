// What a test can see of processes: whether they live, and what scribes have written.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace pawl::crash {

// Gone with everything in it when the test ends.
class scratch_folder {
public:
    // In memory, where there is such a place, a sync of everybody's disk holds up no renewal; there
    // a program may not be run.
    enum class storage { disk, memory };
    explicit scratch_folder(storage where = storage::disk);
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + '/' + name; }

private:
    std::string path_;
};

// Asks every 2 ms until it holds. False when it has not held within that time.
bool eventually(const std::function<bool()>& holds, millis within = millis{20'000});

// One line of a token writer.
struct entry {
    instant when;
    fence_token token{};
    pid_t writer = 0;
};

// In the order in which they were appended; a last line that is not complete is left out.
std::vector<entry> entries_of(const std::string& file);

// Neither gone nor a zombie.
bool is_running(pid_t pid);

// Everything that a file holds; "" when there is none.
std::string text_of(const std::string& file);

// Forks, runs the body and exits with 0. REQUIRES: no other threads.
pid_t run_in_process(const std::function<void()>& body);

// Waits for a child of this process and returns its status, as of waitpid.
int wait_for_process(pid_t pid);

}  // namespace pawl::crash
