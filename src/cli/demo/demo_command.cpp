// pawl demo: several agents share a job on one embedded store; one is killed and one is frozen on
// the way. Prints who ran what, and the proof that nothing ran twice.
#include "base/ascii.hpp"
#include "base/duration.hpp"
#include "base/percent.hpp"
#include "cli/clients/journal_client.hpp"
#include "cli/demo/demo_serve.hpp"
#include "cli/demo/demo_work.hpp"
#include "cli/demo/self_process.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"
#include "time/clocks.hpp"
#include "time/pause.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

namespace pawl::cli {
namespace {

constexpr millis duration_min{8000};
constexpr millis duration_max{3'600'000};
// Past the last occurrence: two takeovers and the occurrences that queued behind them.
constexpr millis overtime = demo_ttl * 8;
constexpr millis start_timeout{30'000};
constexpr millis look_interval{50};

// In the path of a store's URL.
bool stands_in_path(char letter) {
    return base::is_alphanumeric(letter) ||
           std::string_view{"/-._~"}.find(letter) != std::string_view::npos;
}

struct demo_options {
    int nodes = 3;
    std::string duration = "15s";
    bool serve = false;
};

struct event {
    instant at{};
    std::size_t node = 0;
    std::string what;
    std::int64_t occurrence = 0;
    std::uint64_t token = 0;
    std::uint64_t newest = 0;
    pid_t command = 0;
    pid_t guard = 0;
};

struct node {
    self_process process;
    bool killed = false;
};

// A folder of its own that goes with the demonstration.
class temporary_folder {
public:
    temporary_folder() {
        auto pattern = (std::filesystem::temp_directory_path() / "pawl-demo-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
            throw exit_error{status::io_error, "cannot make a folder in the temporary folder"};
        path_ = pattern;
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    std::string file(const char* name) const { return (path_ / name).string(); }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

// 0: there is no such process.
pid_t parent_of(pid_t process) {
    std::ifstream facts{"/proc/" + std::to_string(process) + "/status"};
    std::string word;
    while (facts >> word)
        if (pid_t parent = 0; word == "PPid:" && facts >> parent) return parent;
    return 0;
}

// What the demonstration does to its nodes, and what that shows.
struct demo_state {
    enum class act { calm, frozen, recovered, killed, over };
    act now = act::calm;
    std::size_t victim = 0;
    std::int64_t occurrence = 0;
    pid_t command = 0, guard = 0, launcher = 0;
    instant injected_at{};
    std::optional<std::chrono::nanoseconds> after_freeze, after_kill;
};

class demonstration {
public:
    demonstration(const globals& options, int nodes, millis duration) : options_{options} {
        std::ofstream{folder_.file("ledger")} << "0000000000000000000\n";
        const auto pipe = folder_.file("events");
        if (mkfifo(pipe.c_str(), 0600) == 0)
            // For writing as well, so that it does not end while no command runs.
            events_ = exec::descriptor{::open(pipe.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)};
        if (!events_.is_open()) throw exit_error{status::io_error, "cannot make a pipe"};
        for (int i = 0; i < nodes; ++i) {
            const auto name = "node-" + std::string(1, static_cast<char>('a' + i));
            nodes_.push_back({self_process{
                name, {"pawl", "agent", "--config", configure(name), "--log-level", "error"}}});
        }
        wait_until_all_live();
        const auto start = std::chrono::ceil<std::chrono::seconds>(time::wall_now());
        first_ = start.time_since_epoch().count();
        last_ = first_ + duration.count() / 1000 - 1;
        deadline_ = lease_clock::now() + duration + overtime;
    }

    demonstration(const demonstration&) = delete;
    demonstration& operator=(const demonstration&) = delete;

    status run() {
        if (!options_.json) print_heading();
        while (!is_played()) {
            if (lease_clock::now() > deadline_) {
                fault("the nodes did not end in time");
                break;
            }
            read_some();
        }
        for (auto& one : nodes_) one.process.signal(SIGTERM);
        for (auto& one : nodes_) end_node(one);
        return judge();
    }

    // The same store and names, for people to look at.
    status serve() {
        std::vector<std::string> names;
        names.reserve(nodes_.size());
        for (const auto& one : nodes_) names.push_back(one.process.name());
        nodes_.clear();
        return serve_demo(options_, store(), folder_.path(), names, std::move(report_));
    }

    // With --json; people have been told meanwhile.
    void print_report() const {
        if (options_.json) print_json(report_);
    }

private:
    void fault(const std::string& what) { faults_.push_back(what); }

    std::string store() const {
        return "sqlite:" + base::percent_encode(folder_.file("demo.db"), stands_in_path);
    }

    std::string configure(const std::string& name) const {
        const auto file = folder_.file((name + ".toml").c_str());
        std::ofstream{file} << "store = \"" << store() << "\"\n"
                            << "[agent]\nname = \"" << name << "\"\nlisten = \"127.0.0.1:0\"\n"
                            << "[[job]]\nname = \"" << demo_job << "\"\n"
                            << "schedule = \"@every 1s\"\n"
                            << "command = [\"/proc/self/exe\", \"demo-work\", \"--ledger\", \""
                            << folder_.file("ledger") << "\", \"--events\", \""
                            << folder_.file("events") << "\"]\n"
                            << "ttl = \"" << base::format_duration(demo_ttl) << "\"\n"
                            << "grace = \"0s\"\n"
                            // So that an occurrence which is late waits for its turn.
                            << "overlap = \"queue\"\n";
        return file;
    }

    globals options_of_journal() const {
        globals options = options_;
        options.store = store();
        options.journal = store();
        return options;
    }

    void wait_until_all_live() const {
        const auto end = lease_clock::now() + start_timeout;
        journal_client records{options_of_journal()};
        while (records.ask(records.verbs().list_nodes()).size() < nodes_.size()) {
            if (lease_clock::now() > end)
                throw exit_error{status::io_error, "the nodes of the demonstration did not start"};
            time::pause_until(lease_clock::now() + look_interval);
        }
    }

    // Every occurrence has begun, and whatever began has ended, but for the faults that were
    // injected.
    bool is_played() const {
        return static_cast<std::int64_t>(runs_.size()) == last_ - first_ + 1 && open_.empty();
    }

    void print_heading() const {
        std::cout << nodes_.size() << " agents share the job '" << demo_job
                  << "' on one embedded store, an occurrence every second, ttl "
                  << base::format_duration(demo_ttl) << ".\n\n"
                  << "TIME      NODE    SCHEDULED TOKEN             WHAT\n";
    }

    enum class shade { plain, bad, good };

    void print_line(const std::string& who, std::int64_t occurrence, std::uint64_t token,
                    const std::string& what, shade how = shade::plain) const {
        if (options_.json) return;
        const auto clock = [](std::int64_t unix_millis) {
            return time_text(unix_millis).substr(11, 8);
        };
        char line[256];
        const auto now = std::chrono::floor<millis>(time::wall_now()).time_since_epoch().count();
        std::snprintf(line, sizeof line, "%-9s %-7s %-9s %-17llu %s", clock(now).c_str(),
                      who.c_str(), clock(occurrence * 1000).c_str(),
                      static_cast<unsigned long long>(token), what.c_str());
        std::cout << painted(line, how) << std::endl;
    }

    std::string painted(const std::string& text, shade how) const {
        if (how == shade::plain || !color_wanted(options_, STDOUT_FILENO)) return text;
        return (how == shade::bad ? "\x1b[31m" : "\x1b[32m") + text + "\x1b[0m";
    }

    void read_some() {
        pollfd waiting{events_.get(), POLLIN, 0};
        const auto left = std::chrono::ceil<millis>(deadline_ - lease_clock::now());
        if (poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0)
            return;
        char text[4096];
        const auto size = ::read(events_.get(), text, sizeof text);
        if (size > 0) unread_.append(text, static_cast<std::size_t>(size));
        for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
            const auto line = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            take(line);
        }
    }

    void take(const std::string& line) {
        std::istringstream words{line};
        event now;
        std::string name;
        now.at = lease_clock::now();
        words >> now.what >> now.occurrence >> now.token >> now.newest >> name >> now.command >>
            now.guard;
        const auto who = std::find_if(nodes_.begin(), nodes_.end(),
                                      [&](const node& one) { return one.process.name() == name; });
        if (now.what == "began") close_before(now.token);
        // Agents fire before the play begins, and go on until they are told to end.
        if (who == nodes_.end() || now.occurrence < first_ || now.occurrence > last_) return;
        now.node = static_cast<std::size_t>(who - nodes_.begin());
        on_event(now);
    }

    // One that its guard has killed, as on a machine that stood still, says nothing more: it is
    // over when the next one begins. The frozen one has yet to wake up.
    void close_before(std::uint64_t token) {
        std::erase_if(open_, [&](std::uint64_t one) { return one < token && one != frozen_; });
    }

    void on_event(const event& now) {
        const auto& who = nodes_[now.node];
        if (now.what == "began") {
            runs_[now.occurrence].insert(now.token);
            ++began_;
            open_.insert(now.token);
            play_on(now);
        } else if (now.what == "ended") {
            open_.erase(now.token);
            print_line(who.process.name(), now.occurrence, now.token, "ran");
        } else if (now.what == "rejected") {
            ++stale_rejected_;
            open_.erase(now.token);
            wake_the_rest(now);
            print_line(
                who.process.name(), now.occurrence, now.token,
                "woke up and wrote: rejected, the ledger has seen " + std::to_string(now.newest),
                shade::good);
        }
    }

    // Strikes a node in the middle of its run, and measures how long the next one takes to begin.
    void play_on(const event& now) {
        const auto& who = nodes_[now.node];
        const auto since = [&] { return now.at - state_.injected_at; };
        switch (state_.now) {
            case demo_state::act::calm:
                if (now.occurrence < first_ + (last_ - first_) / 5) return;
                inject_fault(now, SIGSTOP, demo_state::act::frozen,
                             "frozen in the middle of its run (SIGSTOP)");
                return;
            case demo_state::act::frozen:
                state_.after_freeze = since();
                print_line(who.process.name(), now.occurrence, now.token,
                           "took over " + seconds(since()) + " later", shade::good);
                // The command first: its guard would not let it write.
                kill(state_.command, SIGCONT);
                state_.now = demo_state::act::recovered;
                return;
            case demo_state::act::recovered: {
                // Another one than before, unless that one wins every occurrence until it gets
                // late.
                const bool is_late = now.occurrence >= first_ + (last_ - first_) * 4 / 5;
                if (now.occurrence < first_ + (last_ - first_) * 3 / 5 ||
                    (now.node == state_.victim && !is_late))
                    return;
                inject_fault(now, SIGKILL, demo_state::act::killed,
                             "killed in the middle of its run (SIGKILL)");
                nodes_[now.node].killed = true;
                return;
            }
            case demo_state::act::killed:
                state_.after_kill = since();
                print_line(who.process.name(), now.occurrence, now.token,
                           "took over " + seconds(since()) + " later", shade::good);
                state_.now = demo_state::act::over;
                return;
            case demo_state::act::over:
                return;
        }
    }

    void wake_the_rest(const event& now) {
        if (now.command != state_.command) return;
        kill(state_.guard, SIGCONT);
        kill(state_.launcher, SIGCONT);
        nodes_[state_.victim].process.signal(SIGCONT);
    }

    // As a machine that stands still, or is gone: the agent with its launcher, its guard and its
    // command. The launcher would continue the guard.
    void inject_fault(const event& now, int signal, demo_state::act next, const std::string& what) {
        nodes_[now.node].process.signal(signal);
        state_.command = now.command;
        state_.guard = now.guard;
        if (signal == SIGSTOP) {
            frozen_ = now.token;
            state_.launcher = parent_of(now.guard);
            if (state_.launcher == 0) throw exit_error{status::io_error, "cannot freeze a node"};
            kill(state_.launcher, SIGSTOP);
            kill(now.guard, SIGSTOP);
            kill(now.command, SIGSTOP);
        } else {
            open_.erase(now.token);
        }
        state_.now = next;
        state_.victim = now.node;
        state_.occurrence = now.occurrence;
        state_.injected_at = lease_clock::now();
        print_line(nodes_[now.node].process.name(), now.occurrence, now.token, what, shade::bad);
    }

    static std::string seconds(std::chrono::nanoseconds duration) {
        char text[32];
        std::snprintf(text, sizeof text, "%.2f s", std::chrono::duration<double>(duration).count());
        return text;
    }

    void end_node(node& one) {
        while (one.process.is_talking()) one.process.read([](const std::string&) {});
        if (!one.process.end() && !one.killed) fault(one.process.name() + " failed");
    }

    // The ledger is what the job did: its tokens must never fall, and each occurrence has one run.
    std::size_t read_ledger() {
        std::ifstream book{folder_.file("ledger")};
        std::string head;
        std::getline(book, head);
        std::int64_t occurrence = 0;
        std::uint64_t token = 0, newest = 0;
        std::string who;
        std::map<std::int64_t, std::uint64_t> written;
        std::size_t lines = 0;
        while (book >> occurrence >> token >> who) {
            ++lines;
            if (token < newest)
                fault("the ledger accepted token " + std::to_string(token) + " after " +
                      std::to_string(newest));
            newest = token;
            if (const auto [known, fresh] = written.emplace(occurrence, token);
                !fresh && known->second != token)
                fault("occurrence " + std::to_string(occurrence) + " was written under two tokens");
        }
        return lines;
    }

    // What the agents have recorded must be what their commands did.
    std::size_t read_journal() {
        journal_client records{options_of_journal()};
        std::set<std::int64_t> written;
        std::string after;
        do {
            run_filter which;
            which.job = demo_job;
            const auto some = records.ask(records.verbs().list_runs(which, after, page_limit_max));
            for (const auto& one : some.records) {
                const auto occurrence = one.occurrence ? number(*one.occurrence) / 1000 : 0;
                if (occurrence < first_ || occurrence > last_ || one.status == run_status::skipped)
                    continue;
                if (!written.insert(occurrence).second)
                    fault("the journal has two runs of occurrence " + std::to_string(occurrence));
            }
            after = some.next;
        } while (!after.empty());
        for (const auto& [occurrence, tokens] : runs_)
            if (!written.contains(occurrence))
                fault("occurrence " + std::to_string(occurrence) + " is not in the journal");
        return written.size();
    }

    status judge() {
        const auto writes = read_ledger();
        const auto rows = read_journal();
        const auto occurrences = static_cast<std::size_t>(last_ - first_ + 1);
        const auto duplicates = began_ - runs_.size();
        if (duplicates != 0) fault(std::to_string(duplicates) + " occurrences ran twice");
        if (runs_.size() != occurrences)
            fault(std::to_string(occurrences - runs_.size()) + " occurrences never ran");
        if (state_.now != demo_state::act::over)
            fault("the freeze and the kill did not both come to pass");
        if (stale_rejected_ == 0) fault("no stale write was attempted and rejected");
        const auto late = [](const auto& takeover) {
            return takeover ? seconds(*takeover) : std::string{"-"};
        };
        if (options_.json) {
            boost::json::array lines;
            for (const auto& one : faults_) lines.emplace_back(one);
            const auto ms = [](const auto& takeover) {
                return takeover ? std::chrono::floor<millis>(*takeover).count() : -1;
            };
            report_ = boost::json::object{{"occurrences", occurrences},
                                          {"runs", began_},
                                          {"duplicates", duplicates},
                                          {"stale_writes_rejected", stale_rejected_},
                                          {"writes", writes},
                                          {"journal_rows", rows},
                                          {"takeover_after_freeze_ms", ms(state_.after_freeze)},
                                          {"takeover_after_kill_ms", ms(state_.after_kill)},
                                          {"proven", faults_.empty()},
                                          {"faults", std::move(lines)}};
        } else {
            std::cout << '\n';
            print_table({{"occurrences", std::to_string(occurrences)},
                         {"runs", std::to_string(began_)},
                         {"runs in the journal", std::to_string(rows)},
                         {"duplicates", std::to_string(duplicates)},
                         {"writes accepted, tokens never falling", std::to_string(writes)},
                         {"stale writes rejected", std::to_string(stale_rejected_)},
                         {"takeover after the freeze", late(state_.after_freeze)},
                         {"takeover after the kill", late(state_.after_kill)}});
            for (const auto& one : faults_)
                std::cout << painted("NOT PROVEN: " + one, shade::bad) << '\n';
            if (faults_.empty())
                std::cout << painted(
                                 "Proven: each occurrence ran once, and no late write got through.",
                                 shade::good)
                          << '\n';
        }
        return faults_.empty() ? status::done : as_status(1);
    }

    const globals& options_;
    temporary_folder folder_;
    exec::descriptor events_;
    std::string unread_;
    std::vector<node> nodes_;
    std::int64_t first_ = 0, last_ = 0;
    instant deadline_{};
    demo_state state_;
    std::map<std::int64_t, std::set<std::uint64_t>> runs_;
    std::set<std::uint64_t> open_;  // tokens of runs that have begun and not ended
    std::uint64_t frozen_ = 0;      // of the run whose node was
    std::size_t began_ = 0;
    std::size_t stale_rejected_ = 0;
    std::vector<std::string> faults_;
    boost::json::object report_;  // of --json
};

status demo(const globals& options, const demo_options& what) {
    const auto duration = duration_option("--for", what.duration);
    if (duration < duration_min || duration > duration_max)
        throw CLI::ValidationError{
            "--for",
            "'" + what.duration + "' is too short or too long: 8s to 1h show a freeze and a kill"};
    demonstration play{options, what.nodes, duration};
    const auto proven = play.run();
    if (what.serve && proven == status::done) return play.serve();
    play.print_report();
    return proven;
}

}  // namespace

void add_demo(context& all) {
    auto* one = all.app.add_subcommand(
        "demo", "run competing agents on an embedded store; check that nothing ran twice");
    auto what = std::make_shared<demo_options>();
    one->add_option("--nodes", what->nodes, "number of agents")
        ->check(number_within(2, 26))
        ->type_name("N")
        ->capture_default_str();
    one->add_option("--for", what->duration, "duration of the demo")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_flag("--serve", what->serve, "keep the agents and their web UI running until Ctrl-C");
    one->footer("Example: pawl demo --nodes 5 --for 30s");
    one->callback([&all, what] { all.chosen = [&all, what] { return demo(all.options, *what); }; });

    // What the agents of the demonstration run; no command for people.
    auto* inner = all.app.add_subcommand("demo-work", "the job of the demonstration")->group("");
    auto work = std::make_shared<demo_work_options>();
    inner->add_option("--ledger", work->ledger)->required();
    inner->add_option("--events", work->events)->required();
    inner->callback([&all, work] { all.chosen = [work] { return run_demo_work(*work); }; });
}

}  // namespace pawl::cli
