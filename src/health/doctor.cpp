#include "health/doctor.hpp"

#include "base/comma_list.hpp"
#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "time/clocks.hpp"
#include "time/pause.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

namespace pawl::health {
namespace {

// A key that no process has: asking for it costs a request and changes nothing.
constexpr const char* probe_key = "pawl-doctor";
// How far apart the looks at all records are, by which turnover is counted.
constexpr millis look_interval{250};

std::string text_of(micros duration) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(duration.count()) / 1000.0);
    return text;
}

micros now_of_wall() { return time::wall_now().time_since_epoch(); }

bool mentions(const std::vector<finding>& findings, const std::string& check) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const finding& one) { return one.check == check; });
}

std::vector<micros> measure_round_trips(locks& store, std::size_t count) {
    std::vector<micros> samples;
    for (std::size_t i = 0; i < count; ++i) {
        const auto begun = lease_clock::now();
        static_cast<void>(store.inspect(probe_key));
        samples.push_back(std::chrono::ceil<micros>(lease_clock::now() - begun));
    }
    return samples;
}

std::vector<record> all_records(locks& store, std::size_t most) {
    std::vector<record> all;
    std::string after;
    do {
        auto one = store.list({}, after, std::min(page_limit_max, most - all.size()));
        std::move(one.records.begin(), one.records.end(), std::back_inserter(all));
        after = one.next;
    } while (!after.empty() && all.size() < most);
    return all;
}

}  // namespace

severity diagnosis::worst() const noexcept {
    auto worst = severity::ok;
    for (const auto& one : findings) worst = std::max(worst, one.level);
    return worst;
}

finding judge_round_trips(std::vector<micros> samples, millis timeout) {
    base::ensure(!samples.empty());
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double fraction) {
        return samples[static_cast<std::size_t>(static_cast<double>(samples.size() - 1) *
                                                fraction)];
    };
    auto text = "p50 " + text_of(at(0.5)) + ", p99 " + text_of(at(0.99)) + ", max " +
                text_of(samples.back()) + ", of " + std::to_string(samples.size());
    if (at(0.99) * 2 > timeout)
        return {severity::fail, "round-trip",
                text + ": more than half of timeout=" + base::format_duration(timeout) +
                    "; heartbeats will be lost"};
    if (at(0.99) * 10 > timeout || samples.back() * 2 > timeout)
        return {severity::warn, "round-trip",
                text + ": slow beside timeout=" + base::format_duration(timeout) +
                    "; keep TTLs far above it"};
    return {severity::ok, "round-trip", std::move(text)};
}

finding check_clock(micros offset, micros round_trip, millis max_skew) {
    const auto distance = offset.count() < 0 ? -offset : offset;
    // What a slow answer leaves open is no fault of the clock.
    const auto at_least = distance - round_trip / 2;
    auto text = "the store's clock is " + text_of(distance) +
                (offset.count() < 0 ? " behind" : " ahead of") + " ours (known to " +
                text_of(round_trip / 2) + ")";
    if (at_least > max_skew)
        return {severity::fail, "clock",
                text + ": more than max_skew=" + base::format_duration(max_skew) +
                    ", occurrences will be rejected as early; set the clocks (chrony)"};
    if (at_least > std::chrono::seconds{1})
        return {severity::warn, "clock",
                text + ": leases do not mind, schedules and logs do; set the clocks (chrony)"};
    return {severity::ok, "clock", std::move(text)};
}

finding judge_zones(const std::vector<std::pair<std::string, std::string>>& agents) {
    std::map<std::string, std::string> names;  // of agents, by version
    for (const auto& [name, version] : agents) {
        if (version.empty()) continue;
        base::add_to_list(names[version], name);
    }
    if (names.empty()) return {severity::ok, "tzdata", "no live agent reports its version"};
    if (names.size() == 1)
        return {severity::ok, "tzdata", "all live agents use " + names.begin()->first};
    std::string text = "agents use different versions of tzdata: ";
    for (const auto& [version, all] : names)
        text.append(version == names.begin()->first ? "" : "; ")
            .append(version)
            .append(" (")
            .append(all)
            .append(")");
    return {severity::warn, "tzdata",
            text +
                ": where a zone's rules have changed they disagree about when a job is due; "
                "update tzdata everywhere, then send the agents SIGHUP"};
}

finding judge_quarantine(const store_settings& settings, const store_traits& traits) {
    if (settings.quarantine)
        return {severity::ok, "quarantine",
                "on: after a loss of its data the store grants nothing for " +
                    base::format_duration(*settings.quarantine)};
    if (traits.strict_fencing)
        return {
            severity::ok, "quarantine",
            "off: this store forgets no grant that it has answered; before a copy of its data is "
            "restored, wait for the longest TTL or set quarantine=DUR"};
    return {severity::warn, "quarantine",
            "off: after a loss of data two may hold a key for up to one TTL; use "
            "quarantine=DUR (the longest TTL) or safety=correctness where that costs money"};
}

diagnosis diagnose(locks& store, const store_settings& settings, const doctor_bounds& bounds) {
    diagnosis made;
    debt_ledger debt{bounds.debt};
    auto samples = measure_round_trips(store, std::max<std::size_t>(bounds.round_trips, 1));
    made.findings.push_back({severity::ok, "reachability", "the store answers"});

    const auto begun = lease_clock::now();
    const auto wall_begun = now_of_wall();
    auto said = store.examine();
    const auto taken = std::chrono::ceil<micros>(lease_clock::now() - begun);
    made.version = said.version;
    if (!said.version.empty() && !mentions(said.findings, "version"))
        made.findings.push_back({severity::ok, "version", said.version});
    made.findings.push_back(judge_round_trips(std::move(samples), settings.timeout));
    auto store_now = wall_begun;
    if (said.clock) {
        store_now = micros{*said.clock};
        if (!mentions(said.findings, "clock"))
            made.findings.push_back(
                check_clock(store_now - (wall_begun + taken / 2), taken, settings.max_skew));
    }
    if (!mentions(said.findings, "quarantine"))
        made.findings.push_back(judge_quarantine(settings, store.traits()));
    std::move(said.findings.begin(), said.findings.end(), std::back_inserter(made.findings));

    const auto first_look = lease_clock::now();
    debt.look(all_records(store, bounds.debt.records_max));
    while (lease_clock::now() - first_look < bounds.watched) {
        time::pause_until(
            std::min(lease_clock::now() + look_interval, first_look + bounds.watched));
        debt.look(all_records(store, bounds.debt.records_max));
    }
    const auto watched = std::chrono::ceil<millis>(lease_clock::now() - first_look);
    const auto since = std::chrono::floor<micros>(lease_clock::now() - begun);
    auto owed = debt.findings(std::chrono::floor<millis>(store_now + since).count(), watched);
    std::move(owed.begin(), owed.end(), std::back_inserter(made.findings));
    return made;
}

}  // namespace pawl::health
