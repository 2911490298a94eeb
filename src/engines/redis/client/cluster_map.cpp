#include "engines/redis/client/cluster_map.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "engines/redis/client/error_mapping.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

namespace pawl::redis {
namespace {

// Moves of slots one by one tell us of each: the whole map is not read more often than this.
constexpr millis reading_interval{1000};

// Addresses that a cluster names in MOVED while its map cannot be read: more than any has nodes.
constexpr std::size_t nodes_max = 2048;

bool is_number(const reply& value, std::int64_t below) {
    return value.is_integer() && value.number >= 0 && value.number < below;
}

}  // namespace

std::shared_ptr<cluster_map> cluster_map::make(net::loop& where,
                                               std::shared_ptr<const redis_settings> settings) {
    auto made = std::make_shared<cluster_map>(where, std::move(settings));
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

cluster_map::cluster_map(net::loop& where, std::shared_ptr<const redis_settings> settings)
    : settings_{std::move(settings)}, loop_{where}, executor_{where.get_executor()} {
    base::ensure(!settings_->seeds.empty());
}

// ---- Nodes

server_ptr cluster_map::node(const server_address& where) {
    if (const auto found = nodes_.find(where); found != nodes_.end()) return found->second;
    auto& known = nodes_[where];
    auto to = std::make_shared<redis_settings>(*settings_);
    to->host = where.host;
    to->port = where.port;
    pipeline_bounds bounds;
    bounds.unconnected = store_down::fail;
    known = std::make_shared<server>();
    known->at = where;
    known->link = pipeline::make(loop_, to, bounds);
    known->ears = subscriber::make(loop_, to);
    return known;
}

std::vector<server_ptr> cluster_map::masters() const {
    std::set<server_ptr> all{shards_.begin(), shards_.end()};
    all.erase(nullptr);
    return {all.begin(), all.end()};
}

void cluster_map::retire_strangers() {
    const auto kept = masters();
    std::erase_if(nodes_, [&](const auto& entry) {
        const auto& one = entry.second;
        if (std::find(kept.begin(), kept.end(), one) != kept.end()) return false;
        one->link->retire("the node is not a master of the cluster now");
        one->ears->close();
        return true;
    });
}

server_ptr cluster_map::stranger(const server_address& where) {
    if (nodes_.size() >= nodes_max) retire_strangers();
    return node(where);
}

void cluster_map::moved(std::size_t slot, const server_address& to) {
    if (const auto shard = shard_in_slot(slot); shard < cluster_shards)
        shards_[shard] = stranger(to);
    if (lease_clock::now() - read_at_ > reading_interval) refresh_soon();
}

// ---- Reading the map

void cluster_map::refresh_soon() {
    if (reading_ || closed_) return;
    reading_ = true;
    boost::asio::co_spawn(executor_, read_map(shared_from_this()), boost::asio::detached);
}

async<void> cluster_map::refresh(instant deadline) {
    const auto self = shared_from_this();
    if (closed_) co_return failure{errc::unreachable, "the store is closed"};
    refresh_soon();
    auto waiting = read_.wait_until(deadline);
    if (!co_await std::move(waiting))
        co_return failure{errc::unreachable,
                          settings_->seeds.front().host + ":" +
                              std::to_string(settings_->seeds.front().port) +
                              " (cluster): no node reports in time which node serves what"};
    co_return last_read_;
}

// Those with a connection first, then the other masters, then what the URL names.
std::vector<server_ptr> cluster_map::candidates() {
    auto all = masters();
    std::partition(all.begin(), all.end(),
                   [](const server_ptr& one) { return one->link->is_connected(); });
    for (const auto& seed : settings_->seeds) {
        auto one = node(seed);
        if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
    }
    return all;
}

// To one question, of several nodes: who is asked first may answer last.
struct cluster_map::answers {
    std::deque<std::pair<server_ptr, result<reply>>> came;
    net::event more;
};

// With the whole timeout, however short it is waited for: a request that ends unanswered takes its
// connection with it, and everything else that is under way on that.
boost::asio::awaitable<void> cluster_map::ask(server_ptr whom, std::shared_ptr<answers> into) {
    std::string question;
    command_writer{question, 2}.add("CLUSTER").add("SLOTS");
    auto said = co_await whom->link->ask(question, 1, instant::max());
    into->came.emplace_back(std::move(whom), std::move(said));
    into->more.notify_all();
}

boost::asio::awaitable<void> cluster_map::read_map(std::shared_ptr<cluster_map> self) {
    const auto all = self->candidates();
    const auto heard = std::make_shared<answers>();
    // One that hangs must leave time for the others.
    const auto share = self->settings_->common.timeout / static_cast<int>(all.size() + 1);
    result<void> outcome;
    bool is_read = false;
    for (const auto& one : all) {
        boost::asio::co_spawn(self->executor_, ask(one, heard), boost::asio::detached);
        const auto deadline = lease_clock::now() + share;
        for (bool next = false; !next && !is_read && !self->closed_;) {
            if (heard->came.empty()) {
                auto waiting = heard->more.wait_until(deadline);
                co_await std::move(waiting);
                if (self->closed_) break;
            }
            if (heard->came.empty()) {
                outcome = failure{errc::unreachable, one->link->place() + ": no answer within " +
                                                         base::format_duration(share)};
                break;
            }
            const auto [by, said] = std::move(heard->came.front());
            heard->came.pop_front();
            outcome = self->take(said, *by);
            is_read = outcome.has_value();
            next = by == one;
        }
        if (is_read || self->closed_) break;
    }
    self->last_read_ = std::move(outcome);
    self->read_at_ = lease_clock::now();
    self->reading_ = false;
    self->read_.notify_all();
}

result<void> cluster_map::take(const result<reply>& said, const server& told_by) {
    const auto& place = told_by.link->place();
    if (said.has_error()) {
        auto why = said.error();
        if (why.code == errc::outcome_unknown) why.code = errc::unreachable;
        return why;
    }
    if (!said->is_error()) return apply(*said, told_by);
    if (said->text.find("cluster support disabled") != std::string::npos)
        return failure{errc::unsupported,
                       place + " is not a node of a cluster: use redis:// (" + said->text + ")"};
    return explain_rejection(place, said->text);
}

// A list of {first slot, last slot, {host, port, …} of the master, …}.
result<void> cluster_map::apply(const reply& slots, const server& told_by) {
    failure odd{errc::protocol,
                told_by.link->place() + " does not speak RESP: an odd answer to CLUSTER SLOTS"};
    if (!slots.is_array()) return odd;
    std::array<server_ptr, cluster_shards> read;
    for (const auto& range : slots.elements) {
        const auto& parts = range.elements;
        if (parts.size() < 3 || !is_number(parts[0], cluster_slots) ||
            !is_number(parts[1], cluster_slots) || parts[2].elements.size() < 2 ||
            !is_number(parts[2].elements[1], 65536))
            return odd;
        // A node that does not know its own address leaves it out.
        auto host = parts[2].elements[0].text;
        if (host.empty() || host == "?") host = told_by.at.host;
        const server_address where{host, static_cast<std::uint16_t>(parts[2].elements[1].number)};
        const auto first = static_cast<std::size_t>(parts[0].number);
        const auto last = static_cast<std::size_t>(parts[1].number);
        for (std::size_t shard = 0; shard < cluster_shards; ++shard)
            if (const auto slot = shard_slot(shard); slot >= first && slot <= last)
                read[shard] = node(where);
    }
    shards_ = std::move(read);
    retire_strangers();
    return result<void>{};
}

// ---- Ending

void cluster_map::close() {
    closed_ = true;
    for (const auto& [where, one] : nodes_) {
        one->link->close_from_anywhere();
        one->ears->close_from_anywhere();
    }
    nodes_.clear();
    shards_ = {};
}

void cluster_map::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void cluster_map::loop_ends() { closed_ = true; }

}  // namespace pawl::redis
