#include "engines/zookeeper/store/expiry_schedule.hpp"

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

std::shared_ptr<expiry_schedule> expiry_schedule::make(net::loop& where, millis expiry) {
    auto made = std::make_shared<expiry_schedule>(where, expiry);
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

expiry_schedule::expiry_schedule(net::loop& where, millis expiry)
    : executor_{where.get_executor()}, timeout_{expiry}, timer_{std::in_place, executor_} {}

std::shared_ptr<lease_end> expiry_schedule::add(const std::shared_ptr<session>& where,
                                                const std::string& key, const std::string& path,
                                                instant until) {
    cancel(path);
    auto what = std::make_shared<lease_end>();
    what->where = where;
    what->key = key;
    what->path = path;
    what->until = until;
    where->lease_began();
    where->carry(until);
    what->place = line_.emplace(until, what);
    ends_.emplace(path, what);
    arm();
    return what;
}

// The place in the line of one that ends later stays: when it is reached, that is seen.
void expiry_schedule::move(lease_end& what, instant until) {
    what.until = until;
    what.where->carry(until);
    if (!what.in_line || what.place->first <= until) return;
    auto taken = line_.extract(what.place);
    taken.key() = until;
    what.place = line_.insert(std::move(taken));
    arm();
}

void expiry_schedule::cancel(const std::shared_ptr<lease_end>& what) {
    if (what->cancelled) return;
    what->cancelled = true;
    what->where->lease_ended();
    if (what->in_line) line_.erase(what->place);
    what->in_line = false;
    ends_.erase(what->path);
}

void expiry_schedule::cancel(const std::string& path) {
    if (const auto what = end_of(path)) cancel(what);
}

std::shared_ptr<lease_end> expiry_schedule::end_of(const std::string& path) const {
    const auto found = ends_.find(path);
    return found == ends_.end() ? nullptr : found->second;
}

bool expiry_schedule::has_expired(const std::string& path) const {
    const auto what = end_of(path);
    return what && what->until <= lease_clock::now();
}

own_lease* expiry_schedule::find(const std::string& key) {
    const auto found = held_.find(key);
    return found == held_.end() ? nullptr : &found->second;
}

void expiry_schedule::hold(const std::string& key, own_lease what) {
    held_.insert_or_assign(key, std::move(what));
}

void expiry_schedule::forget(const std::string& key) {
    const auto found = held_.find(key);
    if (found == held_.end()) return;
    cancel(found->second.end);
    held_.erase(found);
}

void expiry_schedule::arm() {
    if (!timer_ || line_.empty()) return;
    if (line_.begin()->first < timer_->when()) timer_->set(line_.begin()->first);
    if (timing_) return;
    timing_ = true;
    boost::asio::co_spawn(executor_, watch_time(shared_from_this()), boost::asio::detached);
}

boost::asio::awaitable<void> expiry_schedule::watch_time(std::shared_ptr<expiry_schedule> self) {
    while (!self->closed_) {
        co_await self->timer_->wait();
        if (self->closed_) co_return;
        self->end_leases(lease_clock::now());
        self->arm();
    }
}

void expiry_schedule::end_leases(instant now) {
    while (!line_.empty() && line_.begin()->first <= now) {
        auto what = std::move(line_.begin()->second);
        line_.erase(line_.begin());
        if (what->until > now || what->renewals > 0) {
            what->place = line_.emplace(std::max(what->until, now + renewal_pause), what);
            continue;
        }
        what->in_line = false;
        if (const auto held = held_.find(what->key);
            held != held_.end() && held->second.end == what)
            held_.erase(held);
        boost::asio::co_spawn(executor_, remove(shared_from_this(), std::move(what)),
                              boost::asio::detached);
    }
}

// Until it is gone, or its session is: no other process deletes it while this process lives.
boost::asio::awaitable<void> expiry_schedule::remove(std::shared_ptr<expiry_schedule> self,
                                                     std::shared_ptr<lease_end> what) {
    while (!self->closed_ && !what->where->is_dead()) {
        request ask{request::kind::remove, what->path};
        const auto gone =
            co_await what->where->ask(std::move(ask), lease_clock::now() + self->timeout_);
        if (gone.has_value() || what->where->is_dead()) break;
        net::boot_timer pause{self->executor_};
        pause.set(lease_clock::now() + removal_pause);
        co_await pause.wait();
    }
    self->cancel(what);
}

void expiry_schedule::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] {
        self->closed_ = true;
        if (self->timer_) self->timer_->wake();
    });
}

void expiry_schedule::loop_ends() {
    closed_ = true;
    timer_.reset();
}

}  // namespace pawl::zookeeper
