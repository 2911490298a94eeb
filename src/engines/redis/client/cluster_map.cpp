#include "engines/redis/client/cluster_map.hpp"

#include "base/ensure.hpp"
#include "engines/redis/client/error_mapping.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <set>

namespace pawl::redis {
namespace {

// Moves of slots one by one tell us of each: the whole map is not read more often than this.
constexpr millis reading_interval{1000};

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
    auto& known = nodes_[where];
    if (known) return known;
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

void cluster_map::moved(std::size_t slot, const server_address& to) {
    if (const auto shard = shard_in_slot(slot); shard < cluster_shards) shards_[shard] = node(to);
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

boost::asio::awaitable<void> cluster_map::read_map(std::shared_ptr<cluster_map> self) {
    const auto all = self->candidates();
    std::string question;
    command_writer{question, 2}.add("CLUSTER").add("SLOTS");
    result<void> outcome;
    for (const auto& one : all) {
        // One that hangs must leave time for the others.
        const auto share = self->settings_->common.timeout / static_cast<int>(all.size() + 1);
        const auto deadline = lease_clock::now() + share;
        const auto got = co_await one->link->ask(question, 1, deadline);
        if (self->closed_) break;
        if (got.has_error())
            outcome = got.error();
        else if (got->is_error() && got->text.find("cluster support disabled") != std::string::npos)
            outcome = failure{errc::unsupported, one->link->place() +
                                                     " is not a node of a cluster: use redis:// (" +
                                                     got->text + ")"};
        else if (got->is_error())
            outcome = explain_rejection(one->link->place(), got->text);
        else
            outcome = self->apply(*got, *one);
        if (outcome.has_value()) break;
        if (outcome.error().code == errc::outcome_unknown)
            outcome = failure{errc::unreachable, outcome.error().detail};
    }
    self->last_read_ = std::move(outcome);
    self->read_at_ = lease_clock::now();
    self->reading_ = false;
    self->read_.notify_all();
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
