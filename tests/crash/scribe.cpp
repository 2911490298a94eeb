// The wrapped command of the crash tests: every 10 ms it appends one line to a file that all nodes
// share, `CLOCK_BOOTTIME-in-ns PAWL_FENCE_TOKEN pid`, until somebody ends it.
//
// scribe FILE [--ignore-term] [--daemon] [--for MS]
//   --ignore-term  only SIGKILL ends it
//   --daemon       leaves a second scribe behind, in a session of its own and without its parent
//   --for MS       ends by itself, with status 0
#include <pawl/clock.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

struct wishes {
    const char* file = nullptr;
    bool ignore_term = false;
    bool daemon = false;
    std::chrono::milliseconds lifetime = 10min;  // a forgotten scribe ends some time
};

wishes read_arguments(int count, char** arguments) {
    wishes wanted;
    for (int at = 1; at < count; ++at) {
        const std::string_view word{arguments[at]};
        if (word == "--ignore-term") {
            wanted.ignore_term = true;
        } else if (word == "--daemon") {
            wanted.daemon = true;
        } else if (word == "--for" && at + 1 < count) {
            wanted.lifetime = std::chrono::milliseconds{std::atoi(arguments[++at])};
        } else {
            wanted.file = arguments[at];
        }
    }
    return wanted;
}

// As daemons do: a child in a new session forks once more and ends.
void leave_one_behind() {
    const pid_t first = fork();
    if (first > 0) {
        waitpid(first, nullptr, 0);
        return;
    }
    setsid();
    if (fork() > 0) _exit(0);
    for (int stream = 0; stream <= 2; ++stream) close(stream);
}

bool write_line(int file, const std::string& token) {
    const auto now = pawl::lease_clock::now().time_since_epoch();
    const std::string line = std::to_string(std::chrono::nanoseconds{now}.count()) + ' ' + token +
                             ' ' + std::to_string(getpid()) + '\n';
    return write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

int main(int count, char** arguments) {
    const wishes wanted = read_arguments(count, arguments);
    if (wanted.file == nullptr) return 64;
    if (wanted.ignore_term) signal(SIGTERM, SIG_IGN);
    if (wanted.daemon) leave_one_behind();
    const int file = open(wanted.file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    const char* token = getenv("PAWL_FENCE_TOKEN");
    const pawl::instant end = pawl::lease_clock::now() + wanted.lifetime;
    while (pawl::lease_clock::now() < end) {
        if (!write_line(file, token == nullptr ? "0" : token)) return 74;
        std::this_thread::sleep_for(10ms);
    }
    return 0;
}
