// pawl demo: several nodes compete for a job on one embedded store; one is killed and one is frozen
// on the way. Prints who ran what, and the proof that nothing ran twice.
#include "base/duration.hpp"
#include "pawl/commands.hpp"
#include "pawl/demo_node.hpp"
#include "pawl/output.hpp"
#include "pawl/own_process.hpp"
#include "time/clocks.hpp"

#include <poll.h>
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

namespace pawl::app {
namespace {

constexpr millis duration_min{8000};
constexpr millis duration_max{3'600'000};
// Past the last firing: two takeovers and the firings that queued behind them.
constexpr millis overtime = demo_ttl * 6;

struct demo_options {
    int nodes = 3;
    std::string duration = "15s";
};

struct event {
    instant at{};
    std::size_t node = 0;
    std::string what;
    std::int64_t firing = 0;
    std::uint64_t token = 0;
    std::uint64_t newest = 0;
};

struct node {
    own_process process;
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

private:
    std::filesystem::path path_;
};

// What the demonstration does to its nodes, and what that shows.
struct drama {
    enum class act { calm, frozen, recovered, killed, over };
    act now = act::calm;
    std::size_t victim = 0;
    std::int64_t firing = 0;
    instant struck{};
    std::optional<std::chrono::nanoseconds> after_freeze, after_kill;
};

class demonstration {
public:
    demonstration(const globals& options, int nodes, millis duration) : options_{options} {
        const auto start = std::chrono::ceil<std::chrono::seconds>(time::wall_now() + millis{500});
        first_ = start.time_since_epoch().count();
        last_ = first_ + duration.count() / 1000 - 1;
        std::ofstream{folder_.file("ledger")} << "0000000000000000000\n";
        for (int i = 0; i < nodes; ++i) {
            const auto name = "node-" + std::string(1, static_cast<char>('a' + i));
            nodes_.push_back({own_process{
                name,
                {"pawl", "demo-node", "--name", name, "--store",
                 "sqlite:" + folder_.file("demo.db"), "--ledger", folder_.file("ledger"), "--first",
                 std::to_string(first_), "--last", std::to_string(last_)}}});
        }
        deadline_ = lease_clock::now() + millis{500} + duration + overtime;
    }

    demonstration(const demonstration&) = delete;
    demonstration& operator=(const demonstration&) = delete;

    status run() {
        if (!options_.json) print_heading();
        while (std::any_of(nodes_.begin(), nodes_.end(),
                           [](const node& one) { return one.process.is_talking(); })) {
            if (lease_clock::now() > deadline_) {
                fault("the nodes did not end in time");
                break;
            }
            read_some();
        }
        for (auto& one : nodes_) end_node(one);
        return judge();
    }

private:
    void fault(const std::string& what) { faults_.push_back(what); }

    void print_heading() const {
        std::cout << nodes_.size() << " nodes compete for '" << demo_key
                  << "' on one embedded store, a firing every second, ttl "
                  << base::format_duration(demo_ttl) << ".\n\n"
                  << "TIME      NODE    FIRING    TOKEN             WHAT\n";
    }

    enum class tone { plain, bad, good };

    void print_line(const std::string& who, std::int64_t firing, std::uint64_t token,
                    const std::string& what, tone how = tone::plain) const {
        if (options_.json) return;
        const auto clock = [](std::int64_t unix_millis) {
            return time_text(unix_millis).substr(11, 8);
        };
        char line[256];
        const auto now = std::chrono::floor<millis>(time::wall_now()).time_since_epoch().count();
        std::snprintf(line, sizeof line, "%-9s %-7s %-9s %-17llu %s", clock(now).c_str(),
                      who.c_str(), clock(firing * 1000).c_str(),
                      static_cast<unsigned long long>(token), what.c_str());
        std::cout << painted(line, how) << std::endl;
    }

    std::string painted(const std::string& text, tone how) const {
        if (how == tone::plain || !color_wanted(options_, STDOUT_FILENO)) return text;
        return (how == tone::bad ? "\x1b[31m" : "\x1b[32m") + text + "\x1b[0m";
    }

    void read_some() {
        std::vector<pollfd> waiting;
        std::vector<std::size_t> whose;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (!nodes_[i].process.is_talking()) continue;
            waiting.push_back({nodes_[i].process.descriptor(), POLLIN, 0});
            whose.push_back(i);
        }
        const auto left = std::chrono::ceil<millis>(deadline_ - lease_clock::now());
        if (poll(waiting.data(), waiting.size(),
                 static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0)
            return;
        for (std::size_t i = 0; i < waiting.size(); ++i)
            if (waiting[i].revents != 0) read_from(whose[i]);
    }

    void read_from(std::size_t index) {
        nodes_[index].process.read([&](const std::string& line) {
            std::istringstream words{line};
            event now;
            now.at = lease_clock::now();
            now.node = index;
            words >> now.what >> now.firing >> now.token >> now.newest;
            on_event(now);
        });
    }

    void on_event(const event& now) {
        const auto& who = nodes_[now.node];
        if (now.what == "began") {
            runs_[now.firing].insert(now.token);
            ++began_;
            play_on(now);
        } else if (now.what == "ended") {
            print_line(who.process.name(), now.firing, now.token, "ran");
        } else if (now.what == "refused") {
            ++stale_refused_;
            print_line(
                who.process.name(), now.firing, now.token,
                "woke up and wrote: refused, the ledger has seen " + std::to_string(now.newest),
                tone::good);
        }
    }

    // Strikes a node in the middle of its run, and measures how long the next one takes to begin.
    void play_on(const event& now) {
        const auto& who = nodes_[now.node];
        const auto since = [&] { return now.at - play_.struck; };
        switch (play_.now) {
            case drama::act::calm:
                if (now.firing < first_ + (last_ - first_) / 5) return;
                strike(now, SIGSTOP, drama::act::frozen,
                       "frozen in the middle of its run (SIGSTOP)");
                return;
            case drama::act::frozen:
                play_.after_freeze = since();
                print_line(who.process.name(), now.firing, now.token,
                           "took over " + seconds(since()) + " later", tone::good);
                nodes_[play_.victim].process.signal(SIGCONT);
                play_.now = drama::act::recovered;
                return;
            case drama::act::recovered: {
                // Another one than before, unless that one wins every firing until it gets late.
                const bool is_late = now.firing >= first_ + (last_ - first_) * 4 / 5;
                if (now.firing < first_ + (last_ - first_) * 3 / 5 ||
                    (now.node == play_.victim && !is_late))
                    return;
                strike(now, SIGKILL, drama::act::killed,
                       "killed in the middle of its run (SIGKILL)");
                nodes_[now.node].killed = true;
                return;
            }
            case drama::act::killed:
                play_.after_kill = since();
                print_line(who.process.name(), now.firing, now.token,
                           "took over " + seconds(since()) + " later", tone::good);
                play_.now = drama::act::over;
                return;
            case drama::act::over:
                return;
        }
    }

    void strike(const event& now, int signal, drama::act next, const std::string& what) {
        nodes_[now.node].process.signal(signal);
        play_.now = next;
        play_.victim = now.node;
        play_.firing = now.firing;
        play_.struck = lease_clock::now();
        print_line(nodes_[now.node].process.name(), now.firing, now.token, what, tone::bad);
    }

    static std::string seconds(std::chrono::nanoseconds duration) {
        char text[32];
        std::snprintf(text, sizeof text, "%.2f s", std::chrono::duration<double>(duration).count());
        return text;
    }

    void end_node(node& one) {
        if (!one.process.end() && !one.killed) fault(one.process.name() + " failed");
    }

    // The ledger is what the job did: its tokens must never fall, and each firing has one run.
    std::size_t read_ledger() {
        std::ifstream book{folder_.file("ledger")};
        std::string head;
        std::getline(book, head);
        std::int64_t firing = 0;
        std::uint64_t token = 0, newest = 0;
        std::string who;
        std::map<std::int64_t, std::uint64_t> written;
        std::size_t lines = 0;
        while (book >> firing >> token >> who) {
            ++lines;
            if (token < newest)
                fault("the ledger accepted token " + std::to_string(token) + " after " +
                      std::to_string(newest));
            newest = token;
            if (const auto [known, fresh] = written.emplace(firing, token);
                !fresh && known->second != token)
                fault("firing " + std::to_string(firing) + " was written under two tokens");
        }
        return lines;
    }

    status judge() {
        const auto writes = read_ledger();
        const auto firings = static_cast<std::size_t>(last_ - first_ + 1);
        const auto duplicates = began_ - runs_.size();
        if (duplicates != 0) fault(std::to_string(duplicates) + " firings ran twice");
        if (runs_.size() != firings)
            fault(std::to_string(firings - runs_.size()) + " firings never ran");
        if (play_.now != drama::act::over)
            fault("the freeze and the kill did not both come to pass");
        if (stale_refused_ == 0) fault("no stale write was attempted and refused");
        const auto late = [](const auto& takeover) {
            return takeover ? seconds(*takeover) : std::string{"-"};
        };
        if (options_.json) {
            boost::json::array lines;
            for (const auto& one : faults_) lines.push_back(boost::json::value{one});
            const auto ms = [](const auto& takeover) {
                return takeover ? std::chrono::floor<millis>(*takeover).count() : -1;
            };
            print_json(boost::json::object{{"firings", firings},
                                           {"runs", began_},
                                           {"duplicates", duplicates},
                                           {"stale_writes_refused", stale_refused_},
                                           {"writes", writes},
                                           {"takeover_after_freeze_ms", ms(play_.after_freeze)},
                                           {"takeover_after_kill_ms", ms(play_.after_kill)},
                                           {"proven", faults_.empty()},
                                           {"faults", std::move(lines)}});
        } else {
            std::cout << '\n';
            print_table({{"firings", std::to_string(firings)},
                         {"runs", std::to_string(began_)},
                         {"duplicates", std::to_string(duplicates)},
                         {"writes accepted, tokens never falling", std::to_string(writes)},
                         {"stale writes refused", std::to_string(stale_refused_)},
                         {"takeover after the freeze", late(play_.after_freeze)},
                         {"takeover after the kill", late(play_.after_kill)}});
            for (const auto& one : faults_)
                std::cout << painted("NOT PROVEN: " + one, tone::bad) << '\n';
            if (faults_.empty())
                std::cout << painted("Proven: each firing ran once, and no late write got through.",
                                     tone::good)
                          << '\n';
        }
        return faults_.empty() ? status::done : as_status(1);
    }

    const globals& options_;
    temporary_folder folder_;
    std::vector<node> nodes_;
    std::int64_t first_ = 0, last_ = 0;
    instant deadline_{};
    drama play_;
    std::map<std::int64_t, std::set<std::uint64_t>> runs_;
    std::size_t began_ = 0;
    std::size_t stale_refused_ = 0;
    std::vector<std::string> faults_;
};

status demo(const globals& options, const demo_options& what) {
    const auto duration = duration_option("--for", what.duration);
    if (duration < duration_min || duration > duration_max)
        throw CLI::ValidationError{
            "--for",
            "'" + what.duration + "' is too short or too long: 8s to 1h show a freeze and a kill"};
    demonstration play{options, what.nodes, duration};
    return play.run();
}

}  // namespace

void add_demo(context& all) {
    auto* one = all.app.add_subcommand(
        "demo", "several nodes compete on one embedded store; prints the proof");
    auto what = std::make_shared<demo_options>();
    one->add_option("--nodes", what->nodes, "how many")
        ->check(CLI::Range(2, 26))
        ->type_name("N")
        ->capture_default_str();
    one->add_option("--for", what->duration, "how long")->type_name("DUR")->capture_default_str();
    one->footer("Example: pawl demo --nodes 5 --for 30s");
    one->callback([&all, what] { all.chosen = [&all, what] { return demo(all.options, *what); }; });

    // What `pawl demo` starts; no command for people.
    auto* inner = all.app.add_subcommand("demo-node", "one node of the demonstration")->group("");
    auto node = std::make_shared<demo_node_options>();
    inner->add_option("--name", node->name)->required();
    inner->add_option("--ledger", node->ledger)->required();
    inner->add_option("--first", node->first)->required();
    inner->add_option("--last", node->last)->required();
    inner->callback([&all, node] {
        all.chosen = [&all, node] {
            node->store = choose_store(all.options).url;
            return run_demo_node(*node);
        };
    });
}

}  // namespace pawl::app
