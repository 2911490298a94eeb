#include "test_support/simulation/referee.hpp"

#include <algorithm>
#include <cstdio>

namespace pawl::simulation {

std::string_view name_of(law which) {
    constexpr std::array<std::string_view, laws> names{
        "one_holder",     "trust_is_backed", "trust_stays_ended", "tokens_rise",
        "writes_rise",    "holder_served",   "runs_once",         "done_is_completed",
        "not_before_due", "kept_at_least",   "progress"};
    return names[static_cast<std::size_t>(which)];
}

std::string_view name_of(fact which) {
    constexpr std::array<std::string_view, facts> names{
        "grants",          "repeats",     "renewed",     "revived",      "lost_leases", "busy",
        "lingering",       "early",       "quarantined", "already_done", "unknown",     "push",
        "forced_releases", "data_losses", "given_back",  "crashes",      "pauses",      "writes",
        "stale_writes",    "runs",        "completions"};
    return names[static_cast<std::size_t>(which)];
}

void referee::broken(law which, const std::string& what) {
    const auto text = std::string{name_of(which)} + ": " + what;
    note("BROKEN ", text);
    auto& first = first_[static_cast<std::size_t>(which)];
    if (!first) first = text;
    if (!first_breach_) first_breach_ = text;
}

void referee::on_grant(const std::string& key, fence_token token) {
    happened(fact::grants);
    mix(number(token));
    auto& seen = keys_[key];
    seen.granted_at = clock_();
    if (seen.granted_at < seen.kept_until) broken(law::kept_at_least, key + " is granted too soon");
    if (number(token) <= seen.granted)
        broken(law::tokens_rise, key + " granted under " + std::to_string(number(token)) +
                                     " after " + std::to_string(seen.granted));
    seen.granted = std::max(seen.granted, number(token));
}

void referee::forget_lingering() {
    for (auto& [key, seen] : keys_) seen.kept_until = nanos{0};
}

void referee::on_write(const std::string& key, fence_token token, write_answer answer) {
    auto& seen = keys_[key];
    if (answer == write_answer::refused_live_holder)
        broken(law::holder_served, key + " refused token " + std::to_string(number(token)));
    if (answer != write_answer::accepted) {
        happened(fact::stale_writes);
        return;
    }
    happened(fact::writes);
    if (number(token) < seen.accepted)
        broken(law::writes_rise, key + " accepted " + std::to_string(number(token)) + " after " +
                                     std::to_string(seen.accepted));
    seen.accepted = std::max(seen.accepted, number(token));
}

void referee::on_run(const std::string& key, pawl::occurrence occurrence, delivery mode) {
    happened(fact::runs);
    mix(static_cast<std::uint64_t>(number(occurrence)));
    if (++keys_[key].runs[occurrence] > 1 && mode == delivery::at_most_once)
        broken(law::runs_once, key + " ran " + std::to_string(number(occurrence)) + " again");
}

void referee::on_completion(const std::string& key, pawl::occurrence occurrence) {
    happened(fact::completions);
    keys_[key].completed.insert(occurrence);
}

void referee::on_done(const std::string& key, occurrence last, delivery mode, millis latest) {
    if (mode == delivery::at_least_once && !keys_[key].completed.contains(last))
        broken(law::done_is_completed,
               key + " counts " + std::to_string(number(last)) + " as done");
    if (number(last) > latest.count())
        broken(law::not_before_due, key + " has used up " + std::to_string(number(last)));
}

void referee::write_line(const std::string& what) {
    char when[32];
    std::snprintf(when, sizeof when, "%12.6f ", static_cast<double>(clock_().count()) / 1e9);
    trace_.push_back(when + what);
    if (trace_.size() > lines_) trace_.pop_front();
}

std::string referee::trace() const {
    std::string text;
    for (const auto& line : trace_) text += line + "\n";
    return text;
}

}  // namespace pawl::simulation
