#include "http/connections.hpp"

#include "http/connection.hpp"
#include "time/clocks.hpp"
#include "time/http_date.hpp"

#include <boost/asio/co_spawn.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace pawl::http {
namespace {

std::size_t connections_that_fit(std::size_t wanted) {
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0 || descriptors.rlim_cur == RLIM_INFINITY)
        return wanted;
    const auto all = static_cast<std::size_t>(descriptors.rlim_cur);
    // Where there are few the reserve is half of them.
    return std::max<std::size_t>(1,
                                 std::min(all - std::min(descriptors_reserved, all / 2), wanted));
}

}  // namespace

std::uint64_t address_group(const boost::asio::ip::address& of) {
    if (of.is_v4()) return of.to_v4().to_uint();
    if (of.to_v6().is_v4_mapped())
        return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, of.to_v6()).to_uint();
    const auto bytes = of.to_v6().to_bytes();
    std::uint64_t network = 0;
    for (std::size_t i = 0; i < sizeof network; ++i) network = network << 8 | bytes[i];
    return network;
}

connections::connections(server_parts made_of)
    : deadlines{made_of.executor},
      parts_{std::move(made_of)},
      connections_max_{connections_that_fit(parts_.bounds.connections_max)} {}

response connections::reject(unsigned status, std::string_view detail) const {
    try {
        if (parts_.reject) return parts_.reject(status, detail);
    } catch (const std::exception& error) {
        warn(std::string{"a rejection could not be put into words: "} + error.what());
    }
    return response{status, "text/plain; charset=utf-8", std::string{detail} + "\n"};
}

void connections::warn(std::string_view line) const {
    if (parts_.warn) parts_.warn(line);
}

void connections::welcome(tcp::socket socket, const tcp::endpoint& peer, bool to_loopback) {
    ++counts.accepted;
    auto purpose = connection::purpose::serve;
    if (!has_room_for(address_group(peer.address()))) {
        ++counts.rejected;
        // To be told it over TLS takes a handshake, which costs more than a connection.
        if (identity || turned_away_ >= turned_away_max) return;
        purpose = connection::purpose::turn_away;
    }
    const connection::origin from{peer, to_loopback};
    auto one = std::make_shared<connection>(shared_from_this(), std::move(socket), from, purpose);
    auto serving = connection::serve(one);
    boost::asio::co_spawn(
        parts_.executor, std::move(serving), [self = shared_from_this()](std::exception_ptr error) {
            if (!error) return;
            try {
                std::rethrow_exception(error);
            } catch (const std::exception& what) {
                self->warn(std::string{"a connection was given up: "} + what.what());
            }
        });
}

// One of many on its own address costs no other address a place.
bool connections::has_room_for(std::uint64_t group) {
    const auto here = by_address_.find(group);
    if (here != by_address_.end() && here->second >= parts_.bounds.connections_per_address_max)
        return make_way_of([&](const connection& one) { return one.peer_group() == group; });
    return counts.connections < connections_max_ || make_way();
}

bool connections::make_way() {
    return make_way_of([](const connection&) { return true; });
}

template <class Predicate>
bool connections::make_way_of(Predicate may_go) {
    for (auto* some : {&idle_, &coming_}) {
        const auto found = std::find_if(some->begin(), some->end(),
                                        [&](const connection* one) { return may_go(*one); });
        if (found == some->end()) continue;
        (*found)->cut();
        return true;
    }
    return false;
}

void connections::move(place& where, list& to) {
    to.splice(to.end(), *where.in, where.at);
    where.in = &to;
}

// What is cut leaves its list, and what is told may do anything.
std::vector<std::shared_ptr<connection>> connections::everyone() const {
    std::vector<std::shared_ptr<connection>> all;
    for (const auto* some : {&idle_, &coming_, &busy_})
        for (auto* one : *some) all.push_back(one->shared_from_this());
    return all;
}

void connections::begin_stop() {
    stopping_ = true;
    const auto all = everyone();
    for (const auto& one : all) one->wind_up();
}

void connections::cut_all() {
    const auto all = everyone();
    for (const auto& one : all) one->cut();
}

connections::place connections::enter(connection& one) {
    if (one.what_for() == connection::purpose::turn_away) {
        ++turned_away_;
        return {&busy_, busy_.insert(busy_.end(), &one)};
    }
    ++counts.connections;
    ++by_address_[one.peer_group()];
    return {&coming_, coming_.insert(coming_.end(), &one)};
}

void connections::closed(const connection& one) noexcept {
    if (one.what_for() == connection::purpose::turn_away) {
        --turned_away_;
        return;
    }
    --counts.connections;
    const auto here = by_address_.find(one.peer_group());
    if (--here->second == 0) by_address_.erase(here);
}

void connections::begin_leaving() noexcept {
    ++leaving_;
    if (is_empty() && when_empty) when_empty();
}

void connections::leave(place where) noexcept {
    where.in->erase(where.at);
    --leaving_;
    if (is_empty() && when_empty) when_empty();
}

bool connections::begin_request() {
    if (answering_ >= parts_.bounds.requests_max) return false;
    ++answering_;
    return true;
}

bool connections::hold(std::size_t before, std::size_t now) noexcept {
    bytes_held_ += now - before;
    return now <= before || bytes_held_ <= parts_.bounds.held_bytes_max;
}

void connections::count_coming(const connection& one, std::size_t before, std::size_t now) {
    if (now == before) return;
    const auto here = coming_by_address_.try_emplace(one.peer_group(), 0).first;
    here->second += now - before;
    bytes_coming_ += now - before;
    if (here->second == 0) coming_by_address_.erase(here);
    if (now < before) return;
    while (bytes_coming_ > parts_.bounds.held_bytes_max / 2) {
        const auto heaviest = std::max_element(
            coming_by_address_.begin(), coming_by_address_.end(),
            [](const auto& left, const auto& right) { return left.second < right.second; });
        const auto oldest = std::find_if(coming_.begin(), coming_.end(), [&](const auto* other) {
            return other != &one && other->peer_group() == heaviest->first;
        });
        // One request has all the room that there is.
        if (oldest == coming_.end()) return;
        (*oldest)->cut();
    }
}

bool connections::hold_body(const std::string* shared, std::size_t bytes) {
    const auto& bounds = parts_.bounds;
    if (bytes > bounds.small_answer_bytes) {
        const auto found = shared == nullptr ? sending_.end() : sending_.find(shared);
        if (found != sending_.end()) {
            ++found->second;
            return true;
        }
        const auto most = bounds.held_bytes_max - bounds.held_bytes_max / 4;
        if (bytes_held_ > most || bytes > most - bytes_held_) return false;
        if (shared != nullptr) sending_.emplace(shared, 1);
    }
    bytes_held_ += bytes;
    return true;
}

void connections::release_body(const std::string* shared, std::size_t bytes) noexcept {
    if (shared != nullptr && bytes > parts_.bounds.small_answer_bytes) {
        const auto found = sending_.find(shared);
        if (--found->second > 0) return;
        sending_.erase(found);
    }
    bytes_held_ -= bytes;
}

std::string_view connections::date() {
    const auto now = time::local_now();
    const auto second = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    if (second != date_second_) {
        date_second_ = second;
        date_ = time::format_http_date(now);
    }
    return date_;
}

}  // namespace pawl::http
