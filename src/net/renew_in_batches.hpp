// Renewals of one call, a batch after the other: a server that answers one request after the other
// serves the rest of the world in between.
#pragma once

#include "net/cancelled.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/lease_store.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pawl::net {

// `renew(batch, answers)` asks for at most `most` of the leases, which stay where they are, and
// puts one answer for each behind those that there are. Its first failure is that of all; and where
// the caller gives up between two batches, what became of the leases is unknown.
template <class Renew>
async<std::vector<renewal>> renew_in_batches(std::span<const held_lease> leases, std::size_t most,
                                             std::string place, Renew renew) {
    std::vector<renewal> answers;
    answers.reserve(leases.size());
    while (answers.size() < leases.size()) {
        const auto rest = leases.subspan(answers.size());
        auto renewing = renew(rest.first(std::min(rest.size(), most)), answers);
        const auto renewed = co_await std::move(renewing);
        if (renewed.has_error()) co_return renewed.error();
        if (answers.size() < leases.size() && co_await is_cancelled())
            co_return failure{errc::outcome_unknown, place + ": cancelled by the caller"};
    }
    co_return answers;
}

}  // namespace pawl::net
