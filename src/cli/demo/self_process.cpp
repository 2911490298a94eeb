#include "cli/demo/self_process.hpp"

#include "cli/output/status.hpp"
#include "exec/command.hpp"
#include "exec/wire.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace pawl::cli {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (const auto& one : texts) all.push_back(const_cast<char*>(one.c_str()));
    all.push_back(nullptr);
    return all;
}

// Ours, without the stores that it is not told to use, whose URLs may hold a secret, and without
// the token of an agent that it does not ask.
std::vector<std::string> own_variables() {
    auto all = exec::environment_with({});
    std::erase_if(all, [](const std::string& one) {
        return one.starts_with("PAWL_STORE=") || one.starts_with("PAWL_JOURNAL=") ||
               one.starts_with("PAWL_TOKEN=");
    });
    return all;
}

}  // namespace

self_process::self_process(std::string name, const std::vector<std::string>& words,
                           const std::string& input)
    : name_{std::move(name)} {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw exit_error{status::io_error, "cannot make a pipe"};
    output_ = exec::descriptor{ends[0]};
    const exec::descriptor theirs{ends[1]};
    exec::descriptor told;
    if (!input.empty()) {
        told = exec::memory_file(input);
        if (!told.is_open()) throw exit_error{status::io_error, "cannot make a memory file"};
        lseek(told.get(), 0, SEEK_SET);
    }
    const auto variables = own_variables();
    const auto arguments = pointers(words);
    const auto environment = pointers(variables);
    pid_ = fork();
    if (pid_ < 0) throw exit_error{status::io_error, "cannot start a process"};
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (told.is_open()) dup2(told.get(), STDIN_FILENO);
    dup2(theirs.get(), STDOUT_FILENO);
    execve("/proc/self/exe", arguments.data(), environment.data());
    _exit(127);
}

self_process::self_process(self_process&& other) noexcept
    : name_{std::move(other.name_)},
      pid_{std::exchange(other.pid_, -1)},
      output_{std::move(other.output_)},
      unread_{std::move(other.unread_)} {}

self_process::~self_process() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void self_process::signal(int number) const { kill(pid_, number); }

void self_process::read(const std::function<void(const std::string& line)>& take) {
    char text[4096];
    const auto size = ::read(output_.get(), text, sizeof text);
    if (size <= 0) return output_.close();
    unread_.append(text, static_cast<std::size_t>(size));
    for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
        const auto line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        take(line);
    }
}

bool self_process::end() {
    if (output_.is_open()) kill(pid_, SIGKILL);
    int how = 0;
    waitpid(pid_, &how, 0);
    pid_ = -1;
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

}  // namespace pawl::cli
