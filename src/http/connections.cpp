#include "http/connections.hpp"

#include "http/connection.hpp"
#include "http/response_head.hpp"
#include "time/clocks.hpp"

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

connections::connections(server_parts made_of)
    : deadlines{made_of.executor},
      parts_{std::move(made_of)},
      connections_max_{connections_that_fit(parts_.bounds.connections_max)} {}

response connections::refuse(unsigned status, std::string_view detail) const {
    try {
        if (parts_.refuse) return parts_.refuse(status, detail);
    } catch (const std::exception& error) {
        warn(std::string{"a refusal could not be put into words: "} + error.what());
    }
    return response{status, "text/plain; charset=utf-8", std::string{detail} + "\n"};
}

void connections::warn(std::string_view line) const {
    if (parts_.warn) parts_.warn(line);
}

void connections::welcome(tcp::socket socket, const tcp::endpoint& peer) {
    ++counts.accepted;
    auto purpose = connection::purpose::serve;
    if (counts.connections >= connections_max_ && !make_way()) {
        ++counts.refused;
        // To be told it over TLS takes a handshake, which costs more than a connection.
        if (identity || turned_away_ >= turned_away_max) return;
        purpose = connection::purpose::turn_away;
    }
    auto one = std::make_shared<connection>(shared_from_this(), std::move(socket), peer, purpose);
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

bool connections::make_way() {
    if (idle_.empty()) return false;
    idle_.front()->cut();
    return true;
}

// What is cut leaves its list, and what is told may do anything.
std::vector<std::shared_ptr<connection>> connections::everyone() const {
    std::vector<std::shared_ptr<connection>> all;
    for (const auto* list : {&idle_, &busy_})
        for (auto* one : *list) all.push_back(one->shared_from_this());
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
    if (one.what_for() == connection::purpose::turn_away)
        ++turned_away_;
    else
        ++counts.connections;
    return busy_.insert(busy_.end(), &one);
}

void connections::closed(const connection& one) noexcept {
    if (one.what_for() == connection::purpose::turn_away)
        --turned_away_;
    else
        --counts.connections;
}

void connections::begin_leaving() noexcept {
    ++leaving_;
    if (is_empty() && when_empty) when_empty();
}

void connections::leave(place where) noexcept {
    busy_.erase(where);
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

std::string_view connections::date() {
    const auto now = time::local_now();
    const auto second = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    if (second != date_second_) {
        date_second_ = second;
        date_ = format_date(now);
    }
    return date_;
}

}  // namespace pawl::http
