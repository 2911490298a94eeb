#include "cli/demo/demo_work.hpp"

#include "base/number.hpp"
#include "exec/descriptor.hpp"
#include "time/pause.hpp"
#include "time/rfc3339.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace pawl::cli {
namespace {

constexpr int writes_of_a_run = 3;
constexpr millis pause_between_writes{100};

// What the agent has told this run about itself.
struct run_environment {
    std::string node;
    std::int64_t occurrence = 0;  // Unix seconds
    std::uint64_t token = 0;
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr)
        throw exit_error{status::usage, std::string{name} + " is not set: an agent runs this"};
    return value;
}

run_environment look_around() {
    run_environment here;
    here.node = variable("PAWL_NODE");
    const auto token = base::leading_number<std::uint64_t>(variable("PAWL_FENCE_TOKEN"));
    here.token = token.value_or(0);
    const auto occurrence = time::parse_rfc3339(variable("PAWL_OCCURRENCE"));
    if (occurrence.has_value())
        here.occurrence =
            std::chrono::floor<std::chrono::seconds>(*occurrence).time_since_epoch().count();
    return here;
}

// The guarded resource: a file that keeps the newest token in its first 20 bytes, and rejects older
// ones. Check and write are one step, under the file's lock.
class ledger_file {
public:
    explicit ledger_file(const std::string& path)
        : file_{::open(path.c_str(), O_RDWR | O_CLOEXEC)} {
        if (!file_.is_open())
            throw exit_error{status::io_error, "cannot open the demonstration's ledger"};
    }

    // 0 when accepted, else the newest token.
    std::uint64_t write(const run_environment& here) {
        while (flock(file_.get(), LOCK_EX) != 0) {
        }
        std::array<char, 20> head{};
        std::uint64_t newest = 0;
        if (pread(file_.get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()))
            newest =
                base::leading_number<std::uint64_t>({head.data(), head.size() - 1}).value_or(0);
        const bool accepted = here.token >= newest;
        if (accepted) append(here);
        flock(file_.get(), LOCK_UN);
        return accepted ? 0 : newest;
    }

private:
    void append(const run_environment& here) {
        char text[192];
        const int size = std::snprintf(text, sizeof text, "%019llu\n",
                                       static_cast<unsigned long long>(here.token));
        bool good = pwrite(file_.get(), text, static_cast<std::size_t>(size), 0) == size;
        const int length = std::snprintf(
            text, sizeof text, "%lld %llu %s\n", static_cast<long long>(here.occurrence),
            static_cast<unsigned long long>(here.token), here.node.c_str());
        good = good && lseek(file_.get(), 0, SEEK_END) >= 0 &&
               ::write(file_.get(), text, static_cast<std::size_t>(length)) == length;
        if (!good) throw exit_error{status::io_error, "cannot write the demonstration's ledger"};
    }

    exec::descriptor file_;
};

class event_writer {
public:
    explicit event_writer(const std::string& path)
        : pipe_{::open(path.c_str(), O_WRONLY | O_CLOEXEC)} {
        if (!pipe_.is_open())
            throw exit_error{status::io_error, "cannot open the demonstration's pipe"};
    }
    // Short enough to be written as a whole (PIPE_BUF).
    void tell(const char* what, const run_environment& here, std::uint64_t newest = 0) const {
        char line[256];
        const int size = std::snprintf(
            line, sizeof line, "%s %lld %llu %llu %s %d %d\n", what,
            static_cast<long long>(here.occurrence), static_cast<unsigned long long>(here.token),
            static_cast<unsigned long long>(newest), here.node.c_str(), getpid(), getppid());
        if (::write(pipe_.get(), line, static_cast<std::size_t>(size)) != size)
            throw exit_error{status::io_error,
                             "the demonstration has ended: its socket does not answer"};
    }

private:
    exec::descriptor pipe_;
};

}  // namespace

// It does not look whether its lease still stands, as one that is frozen between its look and its
// write could not: that the ledger rejects it is the point.
status run_demo_work(const demo_work_options& what) {
    const auto here = look_around();
    const event_writer news{what.events};
    ledger_file book{what.ledger};
    news.tell("began", here);
    for (int i = 0; i < writes_of_a_run; ++i) {
        time::pause_until(lease_clock::now() + pause_between_writes);
        const auto newest = book.write(here);
        if (newest != 0) {
            news.tell("rejected", here, newest);
            return status::rejected;
        }
        news.tell("wrote", here);
    }
    news.tell("ended", here);
    return status::done;
}

}  // namespace pawl::cli
