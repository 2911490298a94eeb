// What became of a claim, as its caller is told.
#pragma once

#include "runtime/engine.hpp"

#include <pawl/lease.hpp>

#include <memory>
#include <utility>
#include <variant>

namespace pawl::runtime {

// `Answer` is an acquire_result of a lease. To a caller who gave up, the key was busy.
template <class Answer>
Answer answer_to(claimed what) {
    if (auto* held = std::get_if<std::shared_ptr<lease_state>>(&what))
        return lease{std::move(*held)};
    if (auto* other = std::get_if<busy>(&what)) return std::move(*other);
    if (auto* done = std::get_if<already_done>(&what)) return *done;
    return busy{};
}

}  // namespace pawl::runtime
