// Which engines the application makes connections for.
#pragma once

#include <pawl/connections.hpp>

#include <string_view>
#include <vector>

namespace pawl::runtime {

// Each has the name of its field.
inline std::vector<std::string_view> engines_of(const connection_factories& own) {
    std::vector<std::string_view> all;
    if (own.postgresql) all.push_back("postgresql");
    if (own.mysql) all.push_back("mysql");
    if (own.redis) all.push_back("redis");
    if (own.etcd) all.push_back("etcd");
    return all;
}

}  // namespace pawl::runtime
