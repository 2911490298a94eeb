#include "time/zone.hpp"

#include "base/text.hpp"
#include "time/zone_calendar.hpp"
#include "time/zone_rule.hpp"

#include <date/tz.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace pawl::time {
namespace {

using namespace std::chrono;

const calendar& utc() {
    static const calendar always{"UTC", {{sys_seconds{-end_of_times}, seconds{0}}}};
    return always;
}

// No zone has had as many transitions; a database that has is broken.
constexpr std::size_t most_stretches = 10'000;

calendar read_offsets(const date::time_zone& from) {
    calendar read{std::string{from.name()}, {}};
    sys_seconds at{-end_of_times};
    // The library's own bounds are narrower than ours.
    date::sys_seconds ask{date::sys_days{date::year::min() / 1 / 1}};
    for (std::size_t i = 0; i < most_stretches; ++i) {
        const auto info = from.get_info(ask);
        if (read.stretches.empty() || read.stretches.back().offset != info.offset)
            read.stretches.push_back({at, info.offset});
        if (info.end <= ask || info.end.time_since_epoch() >= end_of_times ||
            info.end >= date::sys_seconds{date::sys_days{date::year::max() / 1 / 1}})
            break;
        ask = info.end;
        at = sys_seconds{ask.time_since_epoch()};
    }
    return read;
}

// Where the date library looks, too.
constexpr std::string_view folders[] = {"/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/"};
constexpr std::size_t largest_file = 1U << 20;
// The rules of today will hardly last as long, and the table stays small.
constexpr year last_year_of_rules{2400};

// The last line of the zone's file, which the date library does not read; empty where there is
// none.
std::string rule_text(const std::string& name) {
    for (const auto folder : folders) {
        std::ifstream file{std::string{folder} + name, std::ios::binary};
        if (!file) continue;
        std::string bytes(largest_file, '\0');
        file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        bytes.resize(static_cast<std::size_t>(file.gcount()));
        // From the second version on, the rule stands between the last two line ends.
        if (!bytes.starts_with("TZif") || bytes.size() < 5 || bytes[4] < '2' ||
            bytes.back() != '\n')
            return {};
        bytes.pop_back();
        const auto line = bytes.rfind('\n');
        return line == std::string::npos ? std::string{} : bytes.substr(line + 1);
    }
    return {};
}

void follow_the_rule(calendar& table, const zone_rule& rule) {
    const auto listed = table.stretches.back().begin;
    const auto first_year =
        table.stretches.size() == 1 ? year{1970} : year_month_day{floor<days>(listed)}.year();
    for (auto at = first_year; at <= last_year_of_rules; ++at)
        for (const auto& next : rule.in(at))
            if (next.begin > table.stretches.back().begin &&
                next.offset != table.stretches.back().offset)
                table.stretches.push_back(next);
}

// Every zone that was ever asked for; they stay, so that handles are cheap.
struct registry {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<const calendar>, std::less<>> zones;
};

registry& known() {
    static registry all;
    return all;
}

bool same_but_for_case(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
    });
}

const date::time_zone* named(const date::tzdb& database, std::string_view name) {
    const auto& zones = database.zones;
    const auto found = std::find_if(zones.begin(), zones.end(),
                                    [&](const auto& one) { return one.name() == name; });
    return found == zones.end() ? nullptr : &*found;
}

base::text_fault unknown(const date::tzdb& database, std::string_view name) {
    std::string what = "there is no time zone '" + base::printable(name) + "'; ";
    std::vector<std::string_view> names;
    for (const auto& one : database.zones) names.push_back(one.name());
    const auto same = std::find_if(names.begin(), names.end(),
                                   [&](auto one) { return same_but_for_case(one, name); });
    const auto near = same != names.end() ? std::optional{*same} : base::nearest(name, names);
    if (near)
        what += "did you mean '" + std::string{*near} + "'?";
    else
        what += "expected a name such as Europe/Paris or UTC";
    return {0, what};
}

}  // namespace

std::size_t calendar::index_at(sys_seconds when) const noexcept {
    const auto after =
        std::upper_bound(stretches.begin() + 1, stretches.end(), when,
                         [](sys_seconds one, const stretch& other) { return one < other.begin; });
    return static_cast<std::size_t>(after - stretches.begin()) - 1;
}

sys_seconds calendar::end_of(std::size_t index) const noexcept {
    return index + 1 < stretches.size() ? stretches[index + 1].begin : sys_seconds{end_of_times};
}

wall_clock calendar::clock_begin(std::size_t index) const noexcept {
    return stretches[index].begin.time_since_epoch() + stretches[index].offset;
}

wall_clock calendar::clock_end(std::size_t index) const noexcept {
    return end_of(index).time_since_epoch() + stretches[index].offset;
}

zone::zone() : offsets_{&utc()} {}

base::parsed<zone> zone::find(std::string_view name) {
    if (name == "UTC") return zone{};
    if (name.empty())
        return base::text_fault{0, "the time zone is empty; expected a name such as Europe/Paris"};
    auto& all = known();
    const std::lock_guard lock{all.mutex};
    if (const auto found = all.zones.find(name); found != all.zones.end())
        return zone{found->second.get()};
    const date::tzdb* database = nullptr;
    try {
        database = &date::get_tzdb();
    } catch (const std::exception&) {
        return base::text_fault{
            0, "this machine has no time zones; install tzdata, or use UTC, which needs none"};
    }
    try {
        const auto* found = named(*database, name);
        if (found == nullptr) return unknown(*database, name);
        auto offsets = read_offsets(*found);
        if (const auto rule = zone_rule::parse(rule_text(found->name())))
            follow_the_rule(offsets, *rule);
        auto read = std::make_unique<const calendar>(std::move(offsets));
        return zone{all.zones.emplace(std::string{name}, std::move(read)).first->second.get()};
    } catch (const std::exception& error) {
        return base::text_fault{
            0, "the time zone '" + base::printable(name) +
                   "' cannot be read from this machine's tzdata: " + base::printable(error.what())};
    }
}

std::string_view zone::name() const noexcept { return offsets_->name; }

seconds zone::offset_at(wall_instant when) const noexcept {
    const auto at = std::chrono::floor<seconds>(when);
    return offsets_->stretches[offsets_->index_at(at)].offset;
}

}  // namespace pawl::time
