#include "runtime/local_queue.hpp"

#include <algorithm>
#include <utility>

namespace pawl::runtime {

ticket& ticket::operator=(ticket&& other) noexcept {
    if (this == &other) return *this;
    give_up();
    home_ = std::move(other.home_);
    key_ = std::move(other.key_);
    other.home_.reset();
    return *this;
}

void ticket::give_up() noexcept {
    if (auto home = home_.lock()) home->leave(key_);
    home_.reset();
}

void ticket::will_be_given_up() noexcept {
    const auto home = home_.lock();
    if (!home) return;
    if (const auto found = home->lines_.find(key_); found != home->lines_.end())
        found->second.leaving = true;
}

std::optional<ticket> local_queue::try_enter(const std::string& key) {
    if (!lines_.try_emplace(key).second) return std::nullopt;
    return ticket{weak_from_this(), key};
}

boost::asio::awaitable<std::optional<ticket>> local_queue::enter(
    std::string key, std::chrono::nanoseconds wait, std::shared_ptr<queue_waiter> place) {
    if (auto free = try_enter(key)) co_return free;
    if (place->called_off.is_set()) co_return std::nullopt;
    lines_[key].places.push_back(place);
    auto waiting = place->called_off.wait_for(wait);
    co_await std::move(waiting);
    if (place->admitted) co_return ticket{weak_from_this(), key};
    // A waiter that left meanwhile has passed over a place that was called off, and may have ended
    // the line: a line that no waiter is in front of would never move again.
    if (const auto found = lines_.find(key); found != lines_.end())
        std::erase(found->second.places, place);
    co_return std::nullopt;
}

void local_queue::wake_those_who_share(const std::string& key) {
    const auto found = lines_.find(key);
    if (found == lines_.end()) return;
    for (const auto& one : found->second.places)
        if (one->shares) one->called_off.notify_all();
}

std::size_t local_queue::waiting(const std::string& key) const {
    const auto found = lines_.find(key);
    return found == lines_.end() ? 0 : found->second.places.size();
}

bool local_queue::is_free_soon(const std::string& key) const {
    const auto found = lines_.find(key);
    return found != lines_.end() && found->second.leaving && found->second.places.empty();
}

void local_queue::leave(const std::string& key) {
    const auto found = lines_.find(key);
    if (found == lines_.end()) return;
    auto& [places, leaving] = found->second;
    leaving = false;
    while (!places.empty()) {
        const auto next = std::move(places.front());
        places.pop_front();
        if (next->called_off.is_set()) continue;
        next->admitted = true;
        next->called_off.notify_all();
        return;
    }
    lines_.erase(found);
}

}  // namespace pawl::runtime
