#include "time/zone.hpp"

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "time/zone_calendar.hpp"
#include "time/zone_file.hpp"
#include "time/zone_rule.hpp"

#include <date/tz.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::time {
namespace {

using namespace std::chrono;

const calendar& utc() {
    static const calendar always{"UTC", {{sys_seconds{-end_of_times}, seconds{0}}}};
    return always;
}

constexpr std::size_t largest_file = 1U << 20;
// The rules of today will hardly last as long, and the table stays small.
constexpr year last_year_of_rules{2400};
constexpr std::string_view version_line = "# version ";
constexpr std::string_view zones_mark = "+tzdata.";

// Where the C library looks.
std::vector<std::string> folders() {
    std::vector<std::string> all{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo"};
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no code here changes the environment
    if (const char* chosen = std::getenv("TZDIR"); chosen != nullptr && *chosen != '\0')
        all.insert(all.begin(), chosen);
    return all;
}

// The first so many bytes of the first such file; nothing where there is none.
std::optional<std::string> read_file(std::string_view name, std::size_t most) {
    for (const auto& folder : folders()) {
        std::ifstream file{folder + "/" + std::string{name}, std::ios::binary};
        if (!file) continue;
        std::string bytes(most, '\0');
        file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        bytes.resize(static_cast<std::size_t>(file.gcount()));
        return bytes;
    }
    return std::nullopt;
}

// Names of zones are paths below the folder, and must not lead out of it.
bool is_zone_name(std::string_view name) {
    const auto is_letter = [](char one) {
        return base::is_alphanumeric(one) || one == '_' || one == '-' || one == '+' || one == '/';
    };
    return !name.empty() && name.front() != '/' && name.find("//") == std::string_view::npos &&
           std::all_of(name.begin(), name.end(), is_letter);
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

// Nothing where the machine has no zone of that name.
std::unique_ptr<const calendar> read_zone(std::string_view name) {
    if (!is_zone_name(name)) return nullptr;
    const auto bytes = read_file(name, largest_file);
    auto table = bytes ? parse_zone_file(*bytes) : std::nullopt;
    if (!table) return nullptr;
    calendar made{std::string{name}, std::move(table->stretches)};
    if (const auto rule = zone_rule::parse(table->rule)) follow_the_rule(made, *rule);
    return std::make_unique<const calendar>(std::move(made));
}

std::string read_version() {
    const auto bytes = read_file("tzdata.zi", 64).value_or("");
    if (!bytes.starts_with(version_line)) return {};
    const auto end = bytes.find('\n');
    return end == std::string::npos ? std::string{}
                                    : bytes.substr(version_line.size(), end - version_line.size());
}

bool same_stretches(const calendar& one, const calendar& other) {
    return std::equal(one.stretches.begin(), one.stretches.end(), other.stretches.begin(),
                      other.stretches.end(), [](const stretch& a, const stretch& b) {
                          return a.begin == b.begin && a.offset == b.offset;
                      });
}

// Every zone that was ever asked for; they stay, so that handles are cheap.
struct registry {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<const calendar>, std::less<>> zones;
    std::vector<std::unique_ptr<const calendar>> earlier;  // as they were before a reload
    std::optional<std::string> version{};
};

registry& known() {
    static registry all;
    return all;
}

base::text_fault unknown(const date::tzdb& database, std::string_view name) {
    std::string what = "there is no time zone '" + base::printable(name) + "'; ";
    std::vector<std::string_view> names;
    names.reserve(database.zones.size());
    for (const auto& one : database.zones) names.push_back(one.name());
    const auto same = std::find_if(names.begin(), names.end(),
                                   [&](auto one) { return base::equals_ignoring_case(one, name); });
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
    if (auto read = read_zone(name))
        return zone{all.zones.emplace(std::string{name}, std::move(read)).first->second.get()};
    try {
        return unknown(date::get_tzdb(), name);
    } catch (const std::exception&) {
        return base::text_fault{
            0, "this machine has no time zones; install tzdata, or use UTC, which needs none"};
    }
}

void zone::reload() {
    auto& all = known();
    const std::lock_guard lock{all.mutex};
    all.version = read_version();
    for (auto& [name, now] : all.zones) {
        auto read = read_zone(name);
        if (!read || same_stretches(*read, *now)) continue;
        all.earlier.push_back(std::exchange(now, std::move(read)));
    }
}

std::string zone::database_version() {
    auto& all = known();
    const std::lock_guard lock{all.mutex};
    if (!all.version) all.version = read_version();
    return *all.version;
}

std::string with_zones(std::string version, std::string_view zones) {
    if (!zones.empty()) version.append(zones_mark).append(zones);
    return version;
}

zoned_version split_zones(std::string_view text) {
    const auto at = text.find(zones_mark);
    if (at == std::string_view::npos) return {std::string{text}, {}};
    return {std::string{text.substr(0, at)}, std::string{text.substr(at + zones_mark.size())}};
}

std::string_view zone::name() const noexcept { return offsets_->name; }

seconds zone::offset_at(wall_instant when) const noexcept {
    const auto at = std::chrono::floor<seconds>(when);
    return offsets_->stretches[offsets_->index_at(at)].offset;
}

}  // namespace pawl::time
