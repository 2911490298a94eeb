// Time zones of the IANA database, as the machine has it (tzdata).
#pragma once

#include "base/duration.hpp"
#include "time/clocks.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace pawl::time {

struct calendar;

// A cheap handle; what it points to lives as long as the process. Thread-safe.
class zone {
public:
    // UTC, which needs no database.
    zone();
    // "Europe/Paris", "UTC"; a fault names the nearest zone for a misspelt one. Throws nothing,
    // also when the machine has no tzdata: then everything but UTC is a fault that says so.
    static base::parsed<zone> find(std::string_view name);
    // Reads again, from the machine's tzdata as it is now, every zone that was found before. Who
    // asks for one from now on is given what has changed; handles from before keep what they had.
    static void reload();
    // Of what was read last, such as "2026a"; empty where the machine does not say.
    static std::string database_version();

    std::string_view name() const noexcept;
    // What is added to UTC at that instant to have the local time.
    std::chrono::seconds offset_at(wall_instant when) const noexcept;
    // The offsets of all times (time/zone_calendar.hpp).
    const calendar& offsets() const noexcept { return *offsets_; }

    bool operator==(const zone&) const = default;

private:
    explicit zone(const calendar* offsets) noexcept : offsets_{offsets} {}

    const calendar* offsets_;
};

// The version of a program beside that of its zones, as one text: "1.2.3+tzdata.2026a", which for
// version numbers is 1.2.3.
std::string with_zones(std::string version, std::string_view zones);
struct zoned_version {
    std::string version;
    std::string zones;  // empty where it says nothing of them
};
zoned_version split_zones(std::string_view text);

}  // namespace pawl::time
