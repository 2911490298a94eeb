// pawl drill pause | crash | all: a holder is frozen past its lease, or killed; another takes over;
// the late write of the first must be rejected. Prints what an auditor can file.
#include "assembly/engines.hpp"
#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/demo/drill_events.hpp"
#include "cli/demo/drill_worker.hpp"
#include "cli/demo/self_process.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/output.hpp"
#include "time/clocks.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

namespace pawl::cli {
namespace {

constexpr millis ttl_min{500};
constexpr millis ttl_max{60'000};
// Beside what a lease lasts: for starting a process, connecting, and a busy machine.
constexpr millis timeout_extra{30'000};

struct drill_options {
    std::string ttl = "3s";
};

struct check {
    std::string what;
    bool passed = false;
};

struct scenario_report {
    std::string name;
    std::string title;
    drill_events events;
    std::vector<check> checks;
    std::uint64_t holder_token = 0, successor_token = 0;
    std::optional<millis> takeover;

    bool passed() const {
        return !checks.empty() && std::all_of(checks.begin(), checks.end(),
                                              [](const check& one) { return one.passed; });
    }
};

std::string since_text(std::chrono::nanoseconds duration) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(duration).count());
    return text;
}

enum class fault { freeze, kill };

class drill {
public:
    drill(const std::string& store_url, locks& store, std::string fenced_by, millis ttl, fault how)
        : store_url_{store_url},
          store_{store},
          fenced_by_{std::move(fenced_by)},
          ttl_{ttl},
          fault_{how},
          key_{how == fault::freeze ? "pawl-drill/pause" : "pawl-drill/crash"} {
        report_.name = how == fault::freeze ? "pause" : "crash";
        report_.title = how == fault::freeze
                            ? "a holder is frozen until its lease expires (SIGSTOP)"
                            : "a holder is killed (SIGKILL)";
    }

    scenario_report run() {
        auto holder = start("holder", ttl_ * 2);
        await(holder, "granted");
        report_.holder_token = last(holder, "granted").token;
        auto successor = start("successor", ttl_ * 3 + timeout_extra);
        await(successor, "waiting");
        const auto before = count(holder, "wrote");
        await_until(holder, "another write", [&] { return count(holder, "wrote") > before; });
        const auto injected_at = inject_fault(holder);
        await(successor, "granted");
        const auto granted = last(successor, "granted");
        report_.successor_token = granted.token;
        report_.takeover = std::chrono::floor<millis>(granted.at - injected_at);
        await(successor, "wrote");
        judge_takeover(holder, granted);
        late_write(holder);
        successor.signal(SIGTERM);
        await(successor, "released");
        successor.end();
        return std::move(report_);
    }

private:
    self_process start(const std::string& name, millis wait) {
        return self_process{
            name,
            {"pawl", "drill-worker", "--name", name, "--key", key_, "--resource", key_, "--ttl",
             std::to_string(ttl_.count()), "--timeout", std::to_string(wait.count())},
            store_url_};
    }

    void require(bool passed, const std::string& what) { report_.checks.push_back({what, passed}); }

    void take(const self_process& from, const std::string& line) {
        report_.events.take(from.name(), line);
    }

    std::size_t count(const self_process& who, const std::string& what) const {
        return report_.events.count(who.name(), what);
    }

    drill_event last(const self_process& who, const std::string& what) const {
        return report_.events.last(who.name(), what);
    }

    // What the drill itself did to the holder.
    instant add(const std::string& what, std::uint64_t newest = 0) {
        const auto now = lease_clock::now();
        report_.events.add("drill", what, report_.holder_token, now, newest);
        return now;
    }

    void await(self_process& who, const std::string& what) {
        await_until(who, "'" + what + "'", [&] { return count(who, what) > 0; });
    }

    void await_until(self_process& who, const std::string& what,
                     const std::function<bool()>& happened) {
        const auto deadline = lease_clock::now() + ttl_ * 3 + timeout_extra;
        while (!happened()) {
            const auto left = std::chrono::ceil<millis>(deadline - lease_clock::now());
            pollfd ready{who.descriptor(), POLLIN, 0};
            if (!who.is_talking() || left.count() <= 0 ||
                poll(&ready, 1, static_cast<int>(left.count())) <= 0)
                give_up(who, what);
            who.read([&](const std::string& line) { take(who, line); });
        }
    }

    [[noreturn]] void give_up(const self_process& who, const std::string& what) const {
        if (count(who, "busy") > 0)
            throw exit_error{status::busy, "another drill holds '" + key_ +
                                               "': wait for it, or see 'pawl locks show " + key_ +
                                               "'"};
        throw exit_error{status::unavailable, "the drill's " + who.name() + " did not reach " +
                                                  what + " in time; see its log above"};
    }

    // Returns when.
    instant inject_fault(self_process& holder) {
        holder.signal(fault_ == fault::freeze ? SIGSTOP : SIGKILL);
        const auto injected_at =
            add(fault_ == fault::freeze ? "froze the holder" : "killed the holder");
        report_.events.inject(holder.name(), injected_at);
        // What it said last may still be under way.
        while (fault_ == fault::kill && holder.is_talking())
            holder.read([&](const std::string& line) { take(holder, line); });
        return injected_at;
    }

    void judge_takeover(self_process& holder, const drill_event& granted) {
        // Heartbeats of the holder that were under way when the fault was injected moved its trust.
        drain(holder);
        instant trusted{};
        for (const auto& one : report_.events.all())
            if (one.who == holder.name() && one.what == "valid_until")
                trusted = std::max(trusted, one.at);
        require(granted.token > report_.holder_token,
                "the successor's token " + std::to_string(granted.token) +
                    " is higher than the holder's " + std::to_string(report_.holder_token));
        require(granted.at > trusted, "the successor acquired the lock " +
                                          since_text(granted.at - trusted) +
                                          " after the holder's lease validity had ended");
    }

    void drain(self_process& who) {
        pollfd ready{who.descriptor(), POLLIN, 0};
        while (who.is_talking() && poll(&ready, 1, 0) > 0)
            who.read([&](const std::string& line) { take(who, line); });
    }

    void late_write(self_process& holder) {
        if (fault_ == fault::freeze) {
            const auto before = count(holder, "wrote");
            add("woke the holder");
            holder.signal(SIGCONT);
            await_until(holder, "a late write", [&] {
                return count(holder, "rejected") > 0 || count(holder, "wrote") > before;
            });
            require(count(holder, "wrote") == before,
                    "the woken holder's late write was rejected by " + fenced_by_);
            if (count(holder, "wrote") == before) {
                await(holder, "noticed");
                require(true, "the woken holder was notified that its lease was lost");
                while (holder.is_talking())
                    holder.read([&](const std::string& line) { take(holder, line); });
                holder.end();
            }
            return;
        }
        holder.end();
        // A write of the dead that was still under way: the same check, with its token.
        const auto answer = store_.check_fence(key_, fence_token{report_.holder_token});
        add(answer.accepted ? "late write of the killed holder: accepted"
                            : "late write of the killed holder: rejected",
            number(answer.highest));
        require(!answer.accepted,
                "a late write of the killed holder was rejected by " + fenced_by_);
    }

    const std::string store_url_;
    locks& store_;
    const std::string fenced_by_;
    const millis ttl_;
    const fault fault_;
    const std::string key_;
    scenario_report report_;
};

// ---- The report

std::string sentence_of(const drill_event& one) {
    if (one.what == "waiting") return "waits for the lock";
    if (one.what == "granted") return "acquires the lock";
    if (one.what == "valid_until") return "lease validity ends";
    if (one.what == "wrote") return "write accepted";
    if (one.what == "had_written") return "write from before the fault accepted";
    if (one.what == "rejected")
        return "write rejected, highest token " + std::to_string(one.newest);
    if (one.what == "noticed") return "notices the lost lease";
    if (one.what == "released") return "releases the lock";
    return one.what;
}

// Of a run of writes only the first and the last tell something.
std::vector<drill_event> worth_telling(std::vector<drill_event> all) {
    std::stable_sort(all.begin(), all.end(), [](const drill_event& left, const drill_event& right) {
        return left.at < right.at;
    });
    std::vector<drill_event> told;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto repeats = [&](const drill_event& other) {
            return other.who == all[i].who && other.what == all[i].what;
        };
        const bool tedious = all[i].what == "wrote" || all[i].what == "valid_until";
        const auto earlier =
            std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), repeats);
        const auto later =
            std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), repeats);
        // What the successor trusts is never put to the test: it releases.
        const bool beside_the_point = all[i].what == "valid_until" && all[i].who == "successor";
        if ((!tedious || !earlier || !later) && !beside_the_point) told.push_back(all[i]);
    }
    return told;
}

std::string wall_text(instant at) {
    const auto ago = lease_clock::now() - at;
    return time_text(std::chrono::floor<millis>(time::wall_now() - ago).time_since_epoch().count());
}

struct heading {
    std::string started, host, store, engine;
    millis ttl;
};

boost::json::object json_of(const scenario_report& one, const std::string& fenced_by) {
    boost::json::array events, checks;
    for (const auto& each : worth_telling(one.events.all()))
        events.push_back(boost::json::object{{"at", wall_text(each.at)},
                                             {"who", each.who},
                                             {"what", sentence_of(each)},
                                             {"fence_token", each.token}});
    for (const auto& each : one.checks)
        checks.push_back(boost::json::object{{"check", each.what}, {"passed", each.passed}});
    return {{"name", one.name},
            {"passed", one.passed()},
            {"holder_token", one.holder_token},
            {"successor_token", one.successor_token},
            {"takeover_ms", one.takeover.value_or(millis{-1}).count()},
            {"rejected_by", fenced_by},
            {"events", std::move(events)},
            {"checks", std::move(checks)}};
}

void print_report(const scenario_report& one, millis ttl) {
    std::cout << '\n' << one.name << ": " << one.title << "\n\n";
    std::vector<std::vector<std::string>> rows{{"TIME", "PROCESS", "TOKEN", "EVENT"}};
    for (const auto& each : worth_telling(one.events.all()))
        rows.push_back({wall_text(each.at), each.who,
                        each.token == 0 ? "-" : std::to_string(each.token), sentence_of(each)});
    print_table(rows);
    std::cout << '\n';
    for (const auto& each : one.checks)
        std::cout << (each.passed ? "OK    " : "FAIL  ") << each.what << '\n';
    if (one.takeover)
        std::cout << "Takeover: " << since_text(*one.takeover)
                  << " after the fault, with a lease of " << base::format_duration(ttl) << ".\n";
}

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

status run_drill(const globals& options, const std::vector<fault>& faults,
                 const drill_options& how) {
    const auto ttl = duration_option("--ttl", how.ttl);
    if (ttl < ttl_min || ttl > ttl_max)
        throw exit_error{status::usage,
                         "invalid --ttl '" + base::printable(how.ttl) + "'; expected 500ms to 1m"};
    const auto url = choose_store(options).url;
    auto store = open_locks(options);
    const auto plan = assembly::plan_store(url);
    if (plan.engine == "memory")
        throw exit_error{status::usage,
                         "invalid store 'memory:'; expected one that two processes share, such as "
                         "sqlite:PATH"};
    const auto said = store.examine();
    const auto fenced_by = said.fence_statement.empty() ? "the store's fence for 'pawl-drill/…'"
                                                        : said.fence_statement;
    const heading top{wall_text(lease_clock::now()), host_name(), plan.shown,
                      said.version.empty() ? plan.engine : said.version, ttl};
    if (!options.json) {
        std::cout << "pawl drill\n\n";
        print_table({{"started", top.started},
                     {"host", top.host},
                     {"pawl", PAWL_VERSION},
                     {"store", top.store},
                     {"engine", top.engine},
                     {"lease", base::format_duration(ttl)}});
    }
    bool passed = true;
    boost::json::array scenarios;
    for (const auto one : faults) {
        const auto report = drill{url, store, fenced_by, ttl, one}.run();
        passed = passed && report.passed();
        if (options.json)
            scenarios.push_back(json_of(report, fenced_by));
        else
            print_report(report, ttl);
    }
    if (options.json)
        print_json(boost::json::object{{"started_at", top.started},
                                       {"host", top.host},
                                       {"version", PAWL_VERSION},
                                       {"store", top.store},
                                       {"engine", top.engine},
                                       {"ttl_ms", ttl.count()},
                                       {"scenarios", std::move(scenarios)},
                                       {"passed", passed}});
    else
        std::cout << '\n'
                  << (passed
                          ? "PASSED: the lock had one holder at a time, and every late write was "
                            "rejected."
                          : "FAILED: see the FAIL lines above.")
                  << '\n';
    return passed ? status::done : as_status(1);
}

}  // namespace

void add_drill(context& all) {
    auto* group = all.app.add_subcommand(
        "drill", "fault test: freeze or kill a holder, check that its late write is rejected");
    group->require_subcommand(1);
    group->footer("Example: pawl drill all --store redis://127.0.0.1:6379 --ttl 3s");
    const struct {
        const char* name;
        const char* does;
        std::vector<fault> faults;
    } kinds[] = {{"pause", "freeze a holder until its lease expires", {fault::freeze}},
                 {"crash", "kill a holder", {fault::kill}},
                 {"all", "run both", {fault::freeze, fault::kill}}};
    for (const auto& kind : kinds) {
        auto* one = group->add_subcommand(kind.name, kind.does);
        auto how = std::make_shared<drill_options>();
        one->add_option("--ttl", how->ttl, "lease duration; a takeover takes this long")
            ->type_name("DUR")
            ->capture_default_str();
        one->footer("Example: pawl drill " + std::string{kind.name} + " --ttl 3s --json");
        one->callback([&all, how, faults = kind.faults] {
            all.chosen = [&all, how, faults] { return run_drill(all.options, faults, *how); };
        });
    }

    // What `pawl drill` starts; no command for people.
    auto* inner = all.app
                      .add_subcommand("drill-worker",
                                      "one process of a drill, which reads its store from stdin")
                      ->group("");
    auto worker = std::make_shared<drill_worker_options>();
    auto ttl = std::make_shared<std::int64_t>(0), wait = std::make_shared<std::int64_t>(0);
    inner->add_option("--name", worker->name)->required();
    inner->add_option("--key", worker->key)->required();
    inner->add_option("--resource", worker->resource)->required();
    inner->add_option("--ttl", *ttl)->required();
    inner->add_option("--timeout", *wait)->required();
    inner->callback([&all, worker, ttl, wait] {
        all.chosen = [worker, ttl, wait] {
            std::getline(std::cin, worker->store);
            worker->ttl = millis{*ttl};
            worker->wait = millis{*wait};
            return run_drill_worker(*worker);
        };
    });
}

}  // namespace pawl::cli
