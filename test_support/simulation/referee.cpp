#include "test_support/simulation/referee.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pawl::simulation {
namespace {

std::string seconds_text(nanos since) {
    char text[32];
    std::snprintf(text, sizeof text, "%12.6f", static_cast<double>(since.count()) / 1e9);
    return text;
}

}  // namespace

std::string_view name_of(law which) {
    constexpr std::array<std::string_view, laws> names{
        "one_holder",     "trust_is_backed", "trust_stays_ended", "tokens_rise",
        "writes_rise",    "holder_served",   "runs_once",         "done_is_completed",
        "not_before_due", "kept_min_hold",   "progress"};
    return names[static_cast<std::size_t>(which)];
}

std::string_view name_of(fact which) {
    constexpr std::array<std::string_view, facts> names{
        "grants",          "repeats",     "renewed",     "revived",      "lost_leases", "busy",
        "cooldown",        "early",       "quarantined", "already_done", "unknown",     "push",
        "forced_releases", "data_losses", "given_back",  "crashes",      "pauses",      "writes",
        "stale_writes",    "runs",        "completions"};
    return names[static_cast<std::size_t>(which)];
}

referee::referee(const timeline& time) : referee_base{time, seconds_text} {}

void referee::on_grant(const std::string& key, fence_token token) {
    happened(fact::grants);
    mix(number(token));
    auto& seen = keys_[key];
    seen.granted_at = time_.now();
    if (seen.granted_at < seen.kept_until) broken(law::kept_min_hold, key + " is granted too soon");
    if (number(token) <= seen.granted)
        broken(law::tokens_rise, key + " granted under " + std::to_string(number(token)) +
                                     " after " + std::to_string(seen.granted));
    seen.granted = std::max(seen.granted, number(token));
}

void referee::forget_cooldown() {
    for (auto& [key, seen] : keys_) seen.kept_until = nanos{0};
}

void referee::on_write(const std::string& key, fence_token token, write_answer answer) {
    auto& seen = keys_[key];
    if (answer == write_answer::rejected_live_holder)
        broken(law::holder_served, key + " rejected token " + std::to_string(number(token)));
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

}  // namespace pawl::simulation
