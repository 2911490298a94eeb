// Cron expressions: whatever is rejected names its column in one line, and whatever is accepted
// fires at instants that rise, whichever instant before them is asked about. The expression ends
// with the first line; what follows it chooses zone, policy and start.
#include "time/cron.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

using namespace pawl::time;

void check(bool law) {
    if (!law) std::abort();
}

const zone& chosen_zone(unsigned char choice) {
    static const zone zones[] = {zone{},
                                 zone::find("America/New_York").value(),
                                 zone::find("Australia/Lord_Howe").value(),
                                 zone::find("Pacific/Apia").value(),
                                 zone::find("Africa/Casablanca").value(),
                                 zone::find("Antarctica/Troll").value()};
    return zones[choice % std::size(zones)];
}

void check_occurrences(const cron& what, const zone& where, transitions policy, wall_instant from) {
    constexpr int looked_at = 12;
    constexpr auto year_one = std::chrono::year{1} / 1 / 1;
    for (int i = 0; i < looked_at; ++i) {
        const auto next = what.next(from, where, policy);
        if (!next) return;
        check(*next > from);
        // Nothing lies between: every instant before it has the same answer.
        const auto lowest = std::max(from, wall_instant{std::chrono::sys_days{year_one}});
        const auto between = lowest + (*next - lowest) / 2;
        for (const auto earlier : {*next - std::chrono::microseconds{1}, between})
            if (earlier >= from && earlier < *next)
                check(what.next(earlier, where, policy) == next);
        from = *next;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto* line_end = std::find(data, data + size, '\n');
    const std::string_view text{reinterpret_cast<const char*>(data),
                                static_cast<std::size_t>(line_end - data)};
    unsigned char choices[2]{};
    std::int64_t start = 1'700'000'000'000'000;
    const auto* rest = line_end == data + size ? line_end : line_end + 1;
    const auto left = static_cast<std::size_t>(data + size - rest);
    std::memcpy(choices, rest, std::min(left, sizeof choices));
    if (left >= sizeof choices + sizeof start)
        std::memcpy(&start, rest + sizeof choices, sizeof start);

    const auto parsed = cron::parse(text);
    if (parsed.has_error()) {
        const auto& [column, what] = parsed.error();
        check(column <= text.size() && !what.empty());
        check(std::none_of(what.begin(), what.end(),
                           [](unsigned char letter) { return letter < ' ' || letter == 0x7f; }));
        return 0;
    }
    check(parsed->text() == text && !parsed->describe().empty());
    const transitions policy{
        (choices[1] & 1) != 0 ? pawl::gap_time::skip : pawl::gap_time::end,
        (choices[1] & 2) != 0 ? pawl::repeated_time::twice : pawl::repeated_time::once};
    check_occurrences(*parsed, chosen_zone(choices[0]), policy,
                      wall_instant{std::chrono::microseconds{start}});
    return 0;
}
