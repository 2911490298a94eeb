#include "tests/crash/takeover_scenario.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace pawl::crash {

node::node(std::vector<std::string> command_line, const std::string& messages) {
    pid_ = fork();
    if (pid_ != 0) return;
    setpgid(0, 0);
    const int file = open(messages.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : command_line) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
}

node::~node() {
    if (pid_ < 0) return;
    kill(pid_, SIGCONT);
    kill(pid_, SIGKILL);
    wait_for_process(pid_);
}

void node::signal(int number) const { kill(pid_, number); }

int node::wait() {
    const int status = wait_for_process(std::exchange(pid_, -1));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

takeover_scenario::takeover_scenario(std::vector<place> places)
    : log_{folder_.file("log")}, places_{std::move(places)}, holder_{start_node()} {
    wait_for_successor(holder_);
    if (token_ == fence_token{})
        throw std::runtime_error{"the first holder never ran: " + text_of(folder_.file("node-1"))};
}

// The guard of the last holder ends its command soon after; the folder may go only then.
takeover_scenario::~takeover_scenario() {
    holder_.reset();
    const auto entries = entries_of(log_);
    for (const entry& one : entries) {
        if (one.token == newest_token()) eventually([&] { return !is_running(one.writer); });
    }
}

std::unique_ptr<node> takeover_scenario::start_node() {
    const place& here = places_[started_ % places_.size()];
    std::vector<std::string> line = here.prefix;
    const std::vector<std::string> command{
        PAWL_BINARY,    "exec",       "crash/key",    "--store",
        here.store_url, "--wait=60s", "--ttl",        std::to_string(scenario_ttl.count()) + "ms",
        "--grace",      "100ms",      "--",           TOKEN_WRITER,
        log_,           "--daemon",   "--ignore-term"};
    line.insert(line.end(), command.begin(), command.end());
    ++started_;
    return std::make_unique<node>(line, folder_.file("node-" + std::to_string(started_)));
}

fence_token takeover_scenario::newest_token() const {
    fence_token newest{};
    for (const entry& one : entries_of(log_)) newest = std::max(newest, one.token);
    return newest;
}

std::size_t takeover_scenario::lines_of_newest() const {
    const auto entries = entries_of(log_);
    const fence_token newest = newest_token();
    return static_cast<std::size_t>(std::count_if(
        entries.begin(), entries.end(), [&](const entry& one) { return one.token == newest; }));
}

// Another phase of the heartbeat in each round: 10 to 100 lines of two scribes, up to half a TTL.
bool takeover_scenario::let_holder_write() {
    const std::size_t lines = 10 + started_ * 37 % 90;
    const auto holds = [&] { return is_running(holder_->pid()) && newest_token() == token_; };
    EXPECT_TRUE(eventually([&] { return lines_of_newest() >= lines || !holds(); }));
    if (holds()) return true;
    ++lost_unhurt_;
    allow_one_more_loss();
    return false;
}

// A lease of a second is short for a busy machine, but holders keep it as a rule.
void takeover_scenario::allow_one_more_loss() {
    constexpr int losses_max = 2;
    if (++losses_ > losses_max)
        throw std::runtime_error{"holders lose their lease unhurt again and again"};
}

void takeover_scenario::wait_for_successor(std::unique_ptr<node>& next) {
    const auto has_taken_over = [&] { return newest_token() > token_; };
    for (;;) {
        const bool is_decided = eventually(
            [&] { return has_taken_over() || !is_running(next->pid()); }, millis{60'000});
        if (has_taken_over()) break;
        EXPECT_TRUE(is_decided) << "nobody took over; the waiter says: "
                                << text_of(folder_.file("node-" + std::to_string(started_)));
        if (!is_decided) break;
        // Granted, and stopped by the machine until its lease was over: its command never began.
        EXPECT_EQ(next->wait(), lease_lost);
        allow_one_more_loss();
        started_ += places_.size() - 1;  // another in the same place
        next = start_node();
    }
    token_ = newest_token();
}

// The node that was started last is the holder now. Returns the exit status of the one before.
int takeover_scenario::pass_on_to(std::unique_ptr<node> next) {
    const int status = holder_->wait();
    holder_ = std::move(next);
    place_ = (started_ - 1) % places_.size();
    return status;
}

int takeover_scenario::take_over(const act& hurt, const act& heal) {
    auto next = start_node();
    while (!let_holder_write()) {
        wait_for_successor(next);
        EXPECT_EQ(pass_on_to(std::move(next)), lease_lost);
        next = start_node();
    }
    hurt(*holder_);
    wait_for_successor(next);
    if (heal) heal(*holder_);
    return pass_on_to(std::move(next));
}

int takeover_scenario::replace(const act& hurt) {
    while (!let_holder_write()) {
        EXPECT_EQ(pass_on_to(start_node()), lease_lost);
        wait_for_successor(holder_);
    }
    hurt(*holder_);
    const int status = pass_on_to(start_node());
    wait_for_successor(holder_);
    return status;
}

findings takeover_scenario::seen() const {
    findings all;
    std::set<fence_token> tokens;
    entry last{};
    for (const entry& one : entries_of(log_)) {
        if (one.token < last.token) {
            ++all.stale_lines;
            continue;
        }
        if (one.token > last.token && !tokens.empty()) {
            const auto gap = std::chrono::duration_cast<millis>(one.when - last.when);
            all.longest_gap = std::max(all.longest_gap, gap);
        }
        tokens.insert(one.token);
        last = one;
    }
    all.overlaps = entries_of(log_ + ".overlap").size();
    all.holders = tokens.size();
    return all;
}

outcome run_pawl(const std::vector<std::string>& words) {
    const scratch_folder folder;
    std::vector<std::string> command_line{PAWL_BINARY};
    command_line.insert(command_line.end(), words.begin(), words.end());
    outcome seen;
    seen.status = node{std::move(command_line), folder.file("said")}.wait();
    seen.output = text_of(folder.file("said"));
    return seen;
}

void expect_command_ends_in_time(const takeover_scenario& nodes) {
    // The last renewal may have been sent until this moment, later than the last line.
    const auto struck = lease_clock::now();
    const auto writer = entries_of(nodes.log()).back().writer;
    EXPECT_TRUE(eventually([&] { return !is_running(writer); }));
    EXPECT_LT(entries_of(nodes.log()).back().when, struck + scenario_ttl);
}

void expect_one_at_a_time(const takeover_scenario& nodes, std::size_t holders) {
    const findings seen = nodes.seen();
    EXPECT_EQ(seen.stale_lines, 0u);
    EXPECT_EQ(seen.overlaps, 0u);
    EXPECT_EQ(seen.holders, holders + nodes.lost_unhurt());
    testing::Test::RecordProperty("longest_gap_ms", static_cast<int>(seen.longest_gap.count()));
}

}  // namespace pawl::crash
