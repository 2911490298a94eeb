// Changes of many rows that wait for no lock: rows that others keep locked are passed by, and tried
// again for a while.
#pragma once

#include "net/timer.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/types.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace pawl::mysql {

// Of what is to be changed, where each stands in the caller's list.
using places = std::vector<std::size_t>;

// How often a row that was locked is tried again, and the first pause as a part of the timeout;
// each is three times as long as the one before. Most locks last for a moment.
constexpr int second_looks = 3;
constexpr int first_pause_part = 128;

// Changes what stands in `alike`, at most so many at once and only those of one list together;
// answers with what was locked to the last. `change(part)` changes all of a part, or nothing and
// answers false where one of its rows is locked: the part is then halved until that row stands
// alone. `given_up` is the failure of a caller who does not wait any more.
template <class Change>
async<places> change_skipping_locked(std::vector<places> alike, std::size_t most, millis timeout,
                                     failure given_up, Change change) {
    std::vector<std::span<const std::size_t>> parts;
    for (const auto& each : alike)
        for (std::size_t from = 0; from < each.size(); from += most)
            parts.push_back(std::span{each}.subspan(from, std::min(most, each.size() - from)));
    places locked, again;
    auto pause = timeout / first_pause_part;
    for (int looks = 0;; ++looks, pause *= 3) {
        while (!parts.empty()) {
            const auto part = parts.back();
            parts.pop_back();
            auto changing = change(part);
            const auto done = co_await std::move(changing);
            if (done.has_error()) co_return done.error();
            const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
            if (cancellation.cancelled() != boost::asio::cancellation_type::none)
                co_return given_up;
            if (*done) continue;
            if (part.size() == 1) {
                locked.push_back(part.front());
            } else {
                parts.push_back(part.subspan(part.size() / 2));
                parts.push_back(part.first(part.size() / 2));
            }
        }
        if (locked.empty() || looks == second_looks) co_return locked;
        auto pausing = net::sleep_for(pause);
        co_await std::move(pausing);
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return given_up;
        again = std::exchange(locked, {});
        for (const auto& each : again) parts.emplace_back(&each, 1);
    }
}

}  // namespace pawl::mysql
