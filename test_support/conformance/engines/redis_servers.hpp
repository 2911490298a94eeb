// The ways in which Redis is set up, and Valkey, for the laws of stores and for those of journals.
#pragma once

#include "engines/redis/client/redis_settings.hpp"
#include "engines/redis/client/slots.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/servers/redis_cluster.hpp"
#include "test_support/servers/redis_sentinels.hpp"
#include "test_support/servers/redis_server.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::conformance {

// HOST:PORT,HOST:PORT
inline std::vector<redis::server_address> addresses_in(const std::string& text) {
    std::vector<redis::server_address> all;
    std::istringstream parts{text};
    for (std::string one; std::getline(parts, one, ',');) {
        const auto colon = one.rfind(':');
        all.push_back(
            {one.substr(0, colon), static_cast<std::uint16_t>(std::stoi(one.substr(colon + 1)))});
    }
    return all;
}

inline testing_servers::redis_options synced(
    testing_servers::redis_kind kind = testing_servers::redis_kind::redis) {
    testing_servers::redis_options options;
    options.kind = kind;
    options.persistence = testing_servers::redis_persistence::append_synced;
    return options;
}

// A record that is damaged behind its token until the object goes. Under another token it would be
// that of another grant.
inline std::shared_ptr<void> damage(const testing_servers::redis_server& node,
                                    const std::string& record) {
    const auto text = node.ask({"GET", record});
    auto wrong = text;
    wrong.replace(19, 16, "0123456789abcdeg");
    node.ask({"SET", record, wrong});
    return {nullptr, [&node, record, text](void*) { node.ask({"SET", record, text}); }};
}

template <testing_servers::redis_kind kind>
class one_redis : public running_on_port<testing_servers::redis_server> {
public:
    one_redis() : running_on_port{synced(kind)} {}
    static std::string_view name() {
        return kind == testing_servers::redis_kind::valkey ? "redis_valkey" : "redis";
    }
    static redis::redis_settings settings_at(const std::string& address, store_settings common) {
        redis::redis_settings to;
        to.common = std::move(common);
        to.port = static_cast<std::uint16_t>(std::stoi(address));
        return to;
    }
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        return damage(server_, name_space + ":lock:" + key);
    }
};

using redis_alone = one_redis<testing_servers::redis_kind::redis>;
using valkey_alone = one_redis<testing_servers::redis_kind::valkey>;

// The two that are found through several servers.
template <class Servers>
class redis_seeds : public running<Servers> {
public:
    using running<Servers>::running;
    static constexpr bool restarts_as_any_of_several = true;
    std::string address() const { return this->server_.hosts(); }

protected:
    static redis::redis_settings settings_for(redis::topology shape, const std::string& address,
                                              store_settings common) {
        redis::redis_settings to;
        to.common = std::move(common);
        to.shape = shape;
        to.seeds = addresses_in(address);
        return to;
    }
};

class redis_in_cluster : public redis_seeds<testing_servers::redis_cluster> {
public:
    // No node is to be given up.
    redis_in_cluster()
        : redis_seeds{testing_servers::redis_cluster_options{
              .persistence = synced().persistence, .node_timeout = std::chrono::seconds{15}}} {}
    static std::string_view name() { return "redis_cluster"; }
    static redis::redis_settings settings_at(const std::string& address, store_settings common) {
        return settings_for(redis::topology::cluster, address, std::move(common));
    }
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        const auto shard = name_space + "{" + redis::shard_tag(redis::shard_of_key(key)) + "}";
        const auto owner = server_.owner_of(redis::shard_slot(redis::shard_of_key(key)));
        return damage(server_.node(owner), shard + ":lock:" + key);
    }
};

class redis_with_sentinels : public redis_seeds<testing_servers::redis_sentinels> {
public:
    // A master that is started again is not to be replaced meanwhile.
    redis_with_sentinels()
        : redis_seeds{testing_servers::redis_sentinels_options{
              .persistence = synced().persistence, .down_after = std::chrono::seconds{10}}} {}
    static std::string_view name() { return "redis_sentinel"; }
    static redis::redis_settings settings_at(const std::string& address, store_settings common) {
        auto to = settings_for(redis::topology::sentinel, address, std::move(common));
        to.master_name = testing_servers::redis_sentinels::master_name;
        return to;
    }
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        return damage(server_.node(server_.master()), name_space + ":lock:" + key);
    }
};

}  // namespace pawl::conformance
