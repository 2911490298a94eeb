// When a cron expression fires, found the slow way: the clock on the wall is walked tick by tick,
// and each reading is held against the text of the fields. Shares nothing with src/time: it asks
// the date library for offsets, knows no masks, and states the policies as what was shown, shown
// again and left out.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace pawl::testing {

struct oracle_policy {
    bool fires_after_gap = true;
    bool fires_again = false;
};

class cron_oracle {
public:
    // Five fields are walked by the minute, six by the second. Fields as docs/cron.md tells them,
    // with numbers for names.
    cron_oracle(const std::string& expression, const std::string& zone);

    // Every occurrence after `from` and up to `to`, in rising order.
    std::vector<std::chrono::sys_seconds> occurrences(std::chrono::sys_seconds from,
                                                      std::chrono::sys_seconds to,
                                                      oracle_policy policy) const;

private:
    struct reading;

    // What the text says of the last day that was looked at.
    struct looked_at;

    bool day_fits(const reading& clock, looked_at& day) const;
    bool fits(const reading& clock, looked_at& day) const;
    // Nothing fits from here on for so many ticks of a clock that is not set meanwhile.
    std::chrono::seconds dull(const reading& clock, looked_at& day) const;

    std::vector<std::string> fields_;
    std::string zone_;
    std::chrono::seconds tick_;
    bool counts_ = false;
    // Which values fit, asked of the text once.
    std::vector<bool> seconds_, minutes_, hours_, months_;
};

// Every instant at which the clock of the zone is set, from the one to the other.
std::vector<std::chrono::sys_seconds> clock_changes(const std::string& zone,
                                                    std::chrono::sys_seconds from,
                                                    std::chrono::sys_seconds to);

}  // namespace pawl::testing
