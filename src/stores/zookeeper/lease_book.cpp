#include "stores/zookeeper/lease_book.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>

namespace pawl::zookeeper {
namespace {

// When to look again at a lease whose renewal is on its way.
constexpr millis renewal_pause{5};
// Between two attempts to delete one.
constexpr millis removal_pause{100};

}  // namespace

std::shared_ptr<lease_book> lease_book::make(net::loop& where, millis patience) {
    auto made = std::make_shared<lease_book>(where, patience);
    made->attachment_ = net::attach(where.context(), made);
    return made;
}

lease_book::lease_book(net::loop& where, millis patience)
    : executor_{where.get_executor()}, patience_{patience}, timer_{std::in_place, executor_} {}

void lease_book::expect(const std::shared_ptr<session>& where, const std::string& key,
                        const std::string& path, instant until) {
    if (closed_) return;
    strike(path);
    where->lease_began();
    where->carry(until);
    end last;
    last.where = where;
    last.key = key;
    last.until = until;
    last.place = line_.emplace(until, path);
    ends_.emplace(path, std::move(last));
    arm();
}

// The place in the line stays: when it is reached, the end is seen to have moved.
void lease_book::move(const std::string& path, instant until) {
    const auto found = ends_.find(path);
    if (found == ends_.end()) return;
    found->second.until = until;
    found->second.where->carry(until);
}

void lease_book::strike(const std::string& path) {
    const auto found = ends_.find(path);
    if (found == ends_.end()) return;
    found->second.where->lease_ended();
    if (found->second.in_line) line_.erase(found->second.place);
    ends_.erase(found);
}

bool lease_book::is_over(const std::string& path) const {
    const auto found = ends_.find(path);
    return found != ends_.end() && found->second.until <= lease_clock::now();
}

void lease_book::count(const std::string& path, int change) {
    if (const auto found = ends_.find(path); found != ends_.end()) found->second.renewals += change;
}

holding* lease_book::find(const std::string& key) {
    const auto found = held_.find(key);
    return found == held_.end() ? nullptr : &found->second;
}

void lease_book::hold(const std::string& key, holding what) {
    held_.insert_or_assign(key, std::move(what));
}

void lease_book::forget(const std::string& key) {
    const auto found = held_.find(key);
    if (found == held_.end()) return;
    strike(found->second.path);
    held_.erase(found);
}

void lease_book::arm() {
    if (!timer_ || line_.empty()) return;
    if (line_.begin()->first < timer_->when()) timer_->set(line_.begin()->first);
    if (timing_) return;
    timing_ = true;
    boost::asio::co_spawn(executor_, watch_time(shared_from_this()), boost::asio::detached);
}

boost::asio::awaitable<void> lease_book::watch_time(std::shared_ptr<lease_book> self) {
    while (!self->closed_) {
        co_await self->timer_->wait();
        if (self->closed_) co_return;
        self->end_leases(lease_clock::now());
        self->arm();
    }
}

void lease_book::end_leases(instant now) {
    while (!line_.empty() && line_.begin()->first <= now) {
        const auto path = std::move(line_.begin()->second);
        line_.erase(line_.begin());
        const auto found = ends_.find(path);
        if (found == ends_.end()) continue;
        auto& last = found->second;
        if (last.until > now || last.renewals > 0) {
            last.place = line_.emplace(std::max(last.until, now + renewal_pause), path);
            continue;
        }
        last.in_line = false;
        if (const auto held = held_.find(last.key);
            held != held_.end() && held->second.path == path)
            held_.erase(held);
        boost::asio::co_spawn(executor_, remove(shared_from_this(), last.where, path),
                              boost::asio::detached);
    }
}

// Until it is gone, or its session is: nobody else deletes it while this process lives.
boost::asio::awaitable<void> lease_book::remove(std::shared_ptr<lease_book> self,
                                                std::shared_ptr<session> where, std::string path) {
    while (!self->closed_ && !where->is_dead()) {
        request ask{request::kind::remove, path};
        const auto gone = co_await where->ask(std::move(ask), lease_clock::now() + self->patience_);
        if (gone.has_value() || where->is_dead()) break;
        net::boot_timer pause{self->executor_};
        pause.set(lease_clock::now() + removal_pause);
        co_await pause.wait();
    }
    self->strike(path);
}

void lease_book::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] {
        self->closed_ = true;
        if (self->timer_) self->timer_->wake();
    });
}

void lease_book::loop_ends() {
    closed_ = true;
    timer_.reset();
}

}  // namespace pawl::zookeeper
