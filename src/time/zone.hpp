// Time zones of the IANA database, as the machine has it (tzdata).
#pragma once

#include "base/duration.hpp"

#include <string_view>

namespace date {
class time_zone;
}

namespace pawl::time {

// A cheap handle; the database lives as long as the process. Thread-safe.
class zone {
public:
    // UTC.
    zone();
    // "Europe/Paris", "UTC"; a fault names the nearest zone for a misspelt one. Throws nothing, also
    // when the machine has no tzdata: then everything but UTC is a fault that says so.
    static base::parsed<zone> find(std::string_view name);

    std::string_view name() const noexcept;
    const date::time_zone& get() const noexcept { return *zone_; }

    bool operator==(const zone&) const = default;

private:
    explicit zone(const date::time_zone* which) noexcept : zone_{which} {}

    const date::time_zone* zone_;
};

}  // namespace pawl::time
