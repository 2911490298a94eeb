// Lock debt: leases that are held for long, keys that many wait for, keys that change hands often.
#pragma once

#include <pawl/spi/examination.hpp>
#include <pawl/spi/lease_store.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pawl::health {

struct debt_bounds {
    millis held_warned{3'600'000};      // a lease held for longer is worth a look
    std::uint32_t waiters_warned = 10;  // so many on one key are worth a look
    std::size_t records_max = 20'000;   // of the namespace; what is behind them is not looked at
    std::size_t keys_shown = 3;         // of each kind
};

// Takes looks at all records of a namespace, one after another, and says what they show.
class debt_ledger {
public:
    explicit debt_ledger(const debt_bounds& bounds) : bounds_{bounds} {}

    // Every record that there is at this moment, at most records_max.
    void look(std::vector<record> records);

    // `store_now`: Unix milliseconds on the store's clock; `watched`: from the first look to the
    // last. A grant between two looks is seen by its token; two of the same key count as one, so
    // rates are at least what is said.
    std::vector<finding> findings(std::int64_t store_now, millis watched) const;

private:
    finding held_longest(std::int64_t store_now) const;
    finding waited_for_most() const;
    finding turnover(millis watched) const;

    const debt_bounds bounds_;
    bool looked_ = false;
    std::vector<record> latest_;
    std::map<std::string, fence_token> tokens_;
    std::map<std::string, std::uint64_t> grants_;
};

}  // namespace pawl::health
