#include "schedule/timing/node_clock.hpp"

#include <utility>

namespace pawl::schedule {

using std::chrono::microseconds;

node_clock::comparison node_clock::compare(wall_instant journals, wall_instant sent,
                                           wall_instant answered) {
    const auto doubt = (answered - sent) / 2;
    if (doubt < microseconds{0} || doubt > clock_offset_tolerated) return {};
    const bool is_first = !std::exchange(is_compared_, true);
    const auto offset = std::chrono::floor<microseconds>(sent + doubt - journals);
    // Lower once it matters, so that a clock at the edge does not go back and forth.
    const auto tolerated = offset_ ? clock_offset_tolerated / 2 : clock_offset_tolerated;
    const bool matters = offset > tolerated || offset < -tolerated;
    if (!matters) {
        if (!offset_) return {};
        offset_.reset();
        return {finding::agrees_again, millis{0}};
    }
    const auto known = offset_.value_or(microseconds{0});
    const auto change = offset > known ? offset - known : known - offset;
    if (offset_ && change < clock_offset_tolerated) return {};
    offset_ = offset;
    was_never_right_ = is_first;
    const bool is_ahead = offset > microseconds{0};
    return {is_ahead ? finding::ahead : finding::behind,
            std::chrono::floor<millis>(is_ahead ? offset : -offset)};
}

void node_clock::follow_store(wall_instant local, wall_instant stores) {
    was_never_right_ = !std::exchange(is_compared_, true);
    offset_ = std::chrono::floor<microseconds>(local - stores);
}

std::optional<node_clock::put_back> node_clock::look(instant now, wall_instant local) {
    const bool never_right = std::exchange(was_never_right_, false);
    const auto before = last_.value_or(observation{now, local, corrected(local)});
    const auto passed = std::chrono::floor<microseconds>(now - before.at);
    const auto step = local - (before.local + passed);
    // Where there is no journal to compare with, what the store once told about this clock is not
    // true of another one.
    if (whom_ == compared_with::store && (step > step_tolerated || step < -step_tolerated))
        offset_.reset();
    const auto wall = corrected(local);
    last_ = observation{now, local, wall};
    const auto expected = before.corrected + passed;
    if (wall > expected + step_tolerated) {
        // What came due since the last look was skipped as well, as where the node was frozen.
        if (steps_forward_.size() == steps_forward_kept) steps_forward_.pop_front();
        steps_forward_.push_back({before.corrected, wall - expected});
        return std::nullopt;
    }
    if (wall + step_tolerated >= expected) return std::nullopt;
    put_back found{expected - wall};
    if (never_right) {
        found.last_right = wall_instant::min();
        steps_forward_.clear();
        return found;
    }
    // What came due while the clock was wrong was skipped. One step back may undo several forward:
    // it undoes the last of them first, and each that it takes most of.
    for (auto rest = found.by; rest > microseconds{0} && !steps_forward_.empty();) {
        auto& last = steps_forward_.back();
        if (rest * 2 <= last.by) {
            last.by -= rest;
            break;
        }
        found.last_right = last.from;
        rest -= last.by;
        steps_forward_.pop_back();
    }
    return found;
}

}  // namespace pawl::schedule
