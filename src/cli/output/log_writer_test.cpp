// The log of a process whose leases must not end with the reader of its log.
#include "cli/output/log_writer.hpp"
#include "cli/options/configuration.hpp"
#include "cli/output/output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

namespace pawl::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

enum class through { pipe, socket };

// Two ends, of which the writer blocks.
class stream {
public:
    explicit stream(through what = through::pipe) {
        std::array<int, 2> ends{-1, -1};
        const int made = what == through::pipe
                             ? ::pipe2(ends.data(), O_CLOEXEC)
                             : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
        EXPECT_EQ(made, 0);
        from_ = base::descriptor{ends[0]};
        to_ = base::descriptor{ends[1]};
        ::fcntl(from_.get(), F_SETFL, O_NONBLOCK);
    }

    int to() const { return to_.get(); }
    // Leaves no room for one byte. A pipe has none once each of its pages is in use.
    void fill() const {
        ::fcntl(to_.get(), F_SETFL, O_NONBLOCK);
        const std::string page(PIPE_BUF, '.');
        while (::write(to_.get(), page.data(), page.size()) > 0) {
        }
        while (::write(to_.get(), ".", 1) > 0) {
        }
        EXPECT_EQ(errno, EAGAIN);
        ::fcntl(to_.get(), F_SETFL, 0);
    }
    std::string take(std::size_t most = std::string::npos) const {
        std::string all;
        std::array<char, PIPE_BUF> piece{};
        while (all.size() < most) {
            const auto got = ::read(from_.get(), piece.data(), piece.size());
            if (got <= 0) break;
            all.append(piece.data(), static_cast<std::size_t>(got));
        }
        return all;
    }

private:
    base::descriptor from_;
    base::descriptor to_;
};

std::string note(std::size_t lost) { return "lost " + std::to_string(lost) + "\n"; }

TEST(LogWriter, WritesLinesAsTheyAre) {
    const stream log;
    log_writer writer{log.to()};
    writer.write("one\n", note);
    writer.drop_when_full();
    writer.write("two\n", note);
    writer.tell_lost(note);
    EXPECT_EQ(log.take(), "one\ntwo\n");
}

// Goal: who logs goes on where the reader of the log stands still, and the log says what it lacks.
TEST(LogWriter, LosesLinesWithoutAReaderAndTellsHowMany) {
    for (const auto what : {through::pipe, through::socket}) {
        const stream log{what};
        log_writer writer{log.to()};
        writer.drop_when_full();
        log.fill();
        writer.write("one\n", note);
        writer.write("two\n", note);
        writer.tell_lost(note);
        EXPECT_THAT(log.take(), EndsWith("."));
        writer.write("three\n", note);
        writer.write("four\n", note);
        EXPECT_EQ(log.take(), "lost 2\nthree\nfour\n");
        log.fill();
        writer.write("five\n", note);
        log.take();
        writer.tell_lost(note);
        EXPECT_EQ(log.take(), "lost 1\n");
    }
}

// Goal: the room for a page is not taken for room for more. Method: a line of three pages where
// there is room for one.
TEST(LogWriter, ALineThatIsCutOffIsLostAndTheNextOneBeginsANewLine) {
    const stream log;
    ASSERT_EQ(::fcntl(log.to(), F_SETPIPE_SZ, PIPE_BUF), PIPE_BUF);
    log_writer writer{log.to()};
    writer.drop_when_full();
    const std::string longer(std::size_t{3} * PIPE_BUF, 'x');
    writer.write(longer + '\n', note);
    EXPECT_EQ(log.take(), longer.substr(0, PIPE_BUF));
    writer.tell_lost(note);
    EXPECT_EQ(log.take(), "\nlost 1\n");
    writer.write("next\n", note);
    EXPECT_EQ(log.take(), "next\n");
}

TEST(LogWriter, ALongLineIsWholeWhereThereIsRoom) {
    const stream log;
    log_writer writer{log.to()};
    writer.drop_when_full();
    const std::string longer(std::size_t{3} * PIPE_BUF + 7, 'x');
    writer.write(longer + '\n', note);
    EXPECT_EQ(log.take(), longer + '\n');
}

// Goal: a command's last words are not lost to a slow reader. Method: one that begins to read only
// when the writer waits for it, or before.
TEST(LogWriter, WaitsForItsReaderOnceThereIsTimeForThat) {
    const stream log;
    log_writer writer{log.to()};
    writer.drop_when_full();
    log.fill();
    writer.write("none\n", note);
    writer.write("one\n", note);
    writer.wait_when_full();
    std::thread writing{[&] { writer.write("two\n", note); }};
    std::string all;
    while (!all.ends_with("two\n")) all += log.take();
    writing.join();
    EXPECT_THAT(all, EndsWith(".lost 1\none\ntwo\n"));
}

// Puts standard error, and what logs there, aside.
class StandardError : public testing::Test {
protected:
    StandardError() : before_{::dup(STDERR_FILENO)} { ::dup2(log_.to(), STDERR_FILENO); }
    ~StandardError() override {
        standard_error()->wait_when_full();
        ::dup2(before_.get(), STDERR_FILENO);
        std::signal(SIGPIPE, SIG_DFL);
        set_up_logging({});
        log_as_json(false);
    }

    const stream log_;

private:
    const base::descriptor before_;
};

TEST_F(StandardError, IsNotWaitedForByWhoHoldsLeases) {
    set_up_logging({});
    outlive_log_reader();
    log_.fill();
    log(log_level::info, "one");
    log(log_level::warn, "two");
    log_.take();
    log(log_level::info, "three");
    const auto told = log_.take();
    EXPECT_THAT(told, HasSubstr(" warn 2 log lines were lost: standard error was not read\n"));
    EXPECT_THAT(told, EndsWith(" info three\n"));
    log_.fill();
    log(log_level::info, "four");
    log(log_level::error, "five");
    log_.take();
    wait_for_log_reader();
    const auto rest = log_.take();
    EXPECT_THAT(rest, HasSubstr(" warn 1 log line was lost: standard error was not read\n"));
    EXPECT_THAT(rest, EndsWith(" error five\n"));
}

TEST_F(StandardError, SaysInJsonWhatItLostWhereLogsAreJson) {
    globals options;
    options.log_format = "json";
    options.log_level = "error";
    set_up_logging(options);
    log_as_json(true);
    outlive_log_reader();
    log_.fill();
    log(log_level::error, "one");
    log_.take();
    log(log_level::error, "two");
    const auto told = log_.take();
    EXPECT_THAT(told, StartsWith("{\"time\":\""));
    EXPECT_THAT(told, HasSubstr("\"level\":\"warn\",\"message\":\"1 log line was lost: standard "
                                "error was not read\"}\n{"));
    EXPECT_THAT(told, EndsWith("\"level\":\"error\",\"message\":\"two\"}\n"));
}

}  // namespace
}  // namespace pawl::cli
