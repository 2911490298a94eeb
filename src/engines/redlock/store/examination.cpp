#include "engines/redlock/store/examination.hpp"

#include "base/comma_list.hpp"
#include "base/duration.hpp"
#include "base/number.hpp"
#include "engines/redis/client/session.hpp"
#include "engines/redlock/store/majority_claim.hpp"
#include "time/clocks.hpp"

#include <algorithm>
#include <array>

namespace pawl::redlock {
namespace {

// Clocks that are kept by NTP are within some 10 ms. What is minted on one node must be passed by
// every other's clock within the quarantine, and occurrences are judged with a skew of a minute:
// half a second is far from both, and far from what a sound clock does.
constexpr std::int64_t clocks_apart_us = 500'000;

constexpr std::array<std::string_view, 4> configuration{"*append*", "min-replicas-*", "maxclients",
                                                        "maxmemory*"};
// INFO, TIME, the configuration, ACL WHOAMI and the marker.
constexpr std::size_t questions = configuration.size() + 4;

std::string question_all(const std::string& marker) {
    std::string commands;
    redis::command_writer{commands, 1}.add("INFO");
    redis::command_writer{commands, 1}.add("TIME");
    for (const auto pattern : configuration)
        redis::command_writer{commands, 3}.add("CONFIG").add("GET").add(pattern);
    redis::command_writer{commands, 2}.add("ACL").add("WHOAMI");
    redis::command_writer{commands, 2}.add("GET").add(marker);
    return commands;
}

std::int64_t number_in(std::string_view text) {
    return base::leading_number<std::int64_t>(text).value_or(0);
}

node_facts read_facts(const redis::reply& got, const std::string& place, std::int64_t half_way_us) {
    node_facts one;
    one.said.place = place;
    const auto& parts = got.elements;
    if (parts.size() != questions) return one;
    if (parts[0].is_text()) one.said.info = parts[0].text;
    if (parts[1].elements.size() == 2) {
        one.said.clock =
            number_in(parts[1].elements[0].text) * 1'000'000 + number_in(parts[1].elements[1].text);
        one.ahead_us = *one.said.clock - half_way_us;
    }
    for (std::size_t i = 0; i < configuration.size(); ++i) {
        const auto& pairs = parts[2 + i].elements;
        for (std::size_t j = 0; j + 1 < pairs.size(); j += 2)
            one.said.settings[pairs[j].text] = pairs[j + 1].text;
    }
    const auto& whoami = parts[2 + configuration.size()];
    if (whoami.is_text()) one.said.user = whoami.text;
    if (parts.back().is_text()) one.said.marker = parts.back().text;
    return one;
}

finding judge_quorum(std::size_t answered, std::size_t nodes) {
    const auto majority = majority_of(nodes);
    const auto text = std::to_string(answered) + " of " + std::to_string(nodes) +
                      " nodes answer, " + std::to_string(majority) + " must";
    if (answered < majority)
        return {severity::fail, "quorum", text + ": nothing can be locked until more are back"};
    if (answered < nodes)
        return {severity::warn, "quorum",
                text + ": " + std::to_string(answered - majority) +
                    " more may fail; bring the others back"};
    if (nodes % 2 == 0)
        return {severity::warn, "quorum",
                text + ": an even number survives no more losses than one node less; use 3 or 5"};
    return {severity::ok, "quorum", text};
}

std::optional<finding> check_clocks(const std::vector<node_facts>& all) {
    std::vector<std::int64_t> ahead;
    for (const auto& one : all)
        if (one.ahead_us) ahead.push_back(*one.ahead_us);
    if (ahead.size() < 2) return std::nullopt;
    const auto [least, most] = std::minmax_element(ahead.begin(), ahead.end());
    const auto apart = base::format_duration(millis{(*most - *least) / 1000});
    if (*most - *least <= clocks_apart_us)
        return finding{severity::ok, "clock", "the nodes' clocks are at most " + apart + " apart"};
    return finding{severity::warn, "clock",
                   "the nodes' clocks are " + apart +
                       " apart: after a loss of data tokens rise only if clocks agree within the "
                       "quarantine; synchronise them to 500ms"};
}

// BORN_MS RUN_ID SINCE_US: how long the node has still to keep quiet.
millis quarantine_left(const node_facts& one, millis quarantine) {
    const auto at = one.said.marker.rfind(' ');
    if (at == std::string::npos || !one.said.clock) return millis{0};
    const auto since = number_in(std::string_view{one.said.marker}.substr(at + 1));
    return millis{(since - *one.said.clock) / 1000} + quarantine;
}

finding judge_quarantine(const std::vector<node_facts>& all, const redis::redis_settings& settings,
                         std::size_t nodes) {
    const auto& quarantine = settings.common.quarantine;
    if (!quarantine)
        return {severity::warn, "quarantine",
                "off: a node that comes back without its data lets two hold a key for one TTL; "
                "remove quarantine=off, or set it to the longest TTL"};
    std::string quiet;
    std::size_t count = 0;
    for (const auto& one : all) {
        const auto left = quarantine_left(one, *quarantine);
        if (left.count() <= 0) continue;
        base::add_to_list(quiet, one.said.place + " for " + base::format_duration(left));
        ++count;
    }
    if (count == 0)
        return {severity::ok, "quarantine", base::format_duration(*quarantine) + ", none in it"};
    const bool blocked = all.size() - count < majority_of(nodes);
    return {blocked ? severity::fail : severity::warn, "quarantine",
            quiet + (blocked ? ": no majority may grant until then; it passes by itself"
                             : ": it passes by itself")};
}

}  // namespace

std::vector<finding> judge_nodes(const std::vector<node_facts>& all,
                                 const std::vector<failure>& silent,
                                 const redis::redis_settings& settings, std::size_t nodes) {
    std::vector<finding> found{judge_quorum(all.size(), nodes)};
    for (const auto& one : silent) found.push_back({severity::warn, "quorum", one.detail});
    if (auto clocks = check_clocks(all)) found.push_back(*std::move(clocks));
    found.push_back(judge_quarantine(all, settings, nodes));
    for (const auto& one : all) {
        auto judged = redis::judge_server(one.said, settings);
        // What it means for a majority has been said.
        std::erase_if(judged, [](const finding& seen) { return seen.check == "quarantine"; });
        found.insert(found.end(), judged.begin(), judged.end());
    }
    return found;
}

async<examination> examine_nodes(std::shared_ptr<quorum> among) {
    const auto asked = time::wall_now().time_since_epoch().count();
    const auto commands = question_all(among->marker);
    const auto deadline = among->deadline();
    const auto votes = std::make_shared<round>(among->size());
    const auto heard_at = std::make_shared<std::vector<std::int64_t>>(among->size(), asked);
    for (std::size_t i = 0; i < among->size(); ++i)
        among->at(i)->ask_plainly(commands, questions, deadline,
                                  [taker = votes->taker(i), heard_at, i](node_answer got) {
                                      (*heard_at)[i] = time::wall_now().time_since_epoch().count();
                                      taker(std::move(got));
                                  });
    const round::judge all_of_them = [](const round&) { return false; };
    co_await votes->until(all_of_them);
    std::vector<node_facts> told;
    examination seen;
    for (std::size_t i = 0; i < among->size(); ++i) {
        const auto& got = votes->answers()[i];
        if (!got || got->has_error()) continue;
        auto one = read_facts(**got, among->at(i)->place(), asked + ((*heard_at)[i] - asked) / 2);
        one.said.tls = among->at(i)->examine_tls();
        const auto version = redis::server_version(one.said.info);
        if (!version.empty() && seen.version.find(version) == std::string::npos)
            base::add_to_list(seen.version, version);
        if (!seen.clock) seen.clock = one.said.clock;
        told.push_back(std::move(one));
    }
    if (told.empty()) co_return among->minority(*votes, errc::unreachable);
    seen.fence_statement = "EVALSHA of prepare.lua and accept.lua on " + among->fence_prefix +
                           "RESOURCE, by a majority of the nodes";
    redis::redis_settings settings;
    settings.common = among->settings();
    seen.findings = judge_nodes(told, votes->failures(), settings, among->size());
    co_return seen;
}

}  // namespace pawl::redlock
