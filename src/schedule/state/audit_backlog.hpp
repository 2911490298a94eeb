// Runs without a lease that the audit log has yet to hear of.
//
// A queue without I/O. It is bounded, whatever is added to it while its oldest is being told.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <deque>
#include <utility>

namespace pawl::schedule {

// Of those beyond, the oldest are forgotten.
constexpr std::size_t audits_kept_max = 1'000;

struct untold_audit {
    audit_draft what;
    instant since{};
    bool may_be_told = false;  // it was sent, and not answered
};

// Used by one thread at a time.
class audit_backlog {
public:
    bool empty() const noexcept { return untold_.empty(); }

    void add(untold_audit one) {
        if (untold_.size() >= audits_kept_max) untold_.pop_front();
        untold_.push_back(std::move(one));
    }

    // REQUIRES: it is not empty.
    untold_audit take_oldest() {
        auto one = std::move(untold_.front());
        untold_.pop_front();
        return one;
    }
    // What take_oldest() gave, and the journal did not take.
    void put_back(untold_audit one) {
        if (untold_.size() < audits_kept_max) untold_.push_front(std::move(one));
    }

private:
    std::deque<untold_audit> untold_;
};

}  // namespace pawl::schedule
