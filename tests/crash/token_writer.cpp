// The wrapped command of the crash tests: every 10 ms it appends one line to a file that all nodes
// share, `CLOCK_BOOTTIME-in-ns PAWL_FENCE_TOKEN pid`, until somebody ends it.
//
// token_writer FILE [--ignore-term] [--daemon] [--for MS]
//   --ignore-term  only SIGKILL ends it
//   --daemon       leaves a second token writer behind, in a session of its own and without its
//   parent
//   --for MS       ends by itself, with status 0
//
// With a token it is also a witness: it and its daemon hold a lock on FILE.alive for as long as
// they live, and who finds it taken says so in FILE.overlap.
#include <pawl/clock.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

struct choices {
    const char* file = nullptr;
    bool ignore_term = false;
    bool daemon = false;
    std::chrono::milliseconds lifetime = 1min;  // a forgotten token writer ends some time
};

choices read_arguments(int count, char** arguments) {
    choices wanted;
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

// The descriptor is inherited by the daemon, and the kernel drops the lock with its last holder.
void bear_witness(const std::string& file, const std::string& token) {
    const int alive = open((file + ".alive").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (flock(alive, LOCK_EX | LOCK_NB) == 0) return;
    const int overlap = open((file + ".overlap").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666);
    write_line(overlap, token);
}

}  // namespace

int main(int count, char** arguments) {
    const choices wanted = read_arguments(count, arguments);
    if (wanted.file == nullptr) return 64;
    if (wanted.ignore_term) signal(SIGTERM, SIG_IGN);
    const char* token = getenv("PAWL_FENCE_TOKEN");
    if (token != nullptr) bear_witness(wanted.file, token);
    if (wanted.daemon) leave_one_behind();
    const int file = open(wanted.file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    const pawl::instant end = pawl::lease_clock::now() + wanted.lifetime;
    while (pawl::lease_clock::now() < end) {
        if (!write_line(file, token == nullptr ? "0" : token)) return 74;
        std::this_thread::sleep_for(10ms);
    }
    return 0;
}
