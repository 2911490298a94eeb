// Where a ZooKeeper ensemble is, and as whom to speak to it.
#pragma once

#include <pawl/spi/store_settings.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::zookeeper {

struct server {
    std::string host = "127.0.0.1";  // a name, or an address without brackets
    std::uint16_t port = 2181;
};

// Who may touch the znodes that pawl creates.
enum class access {
    open,    // everybody
    creator  // those who log in with the same user and password
};

struct zookeeper_settings {
    store_settings common;
    std::vector<server> servers{server{}};
    std::string chroot;  // empty, or "/a/b": under which all that is pawl's lies
    std::string user;    // empty: no login
    std::string password;
    access who = access::open;
};

// 10.0.0.7:2181, or [::1]:2181.
std::string place_of(const server& one);
// All of them, as one word for people; begins every detail of a failure. Holds no secret.
std::string place_of(const zookeeper_settings& settings);

}  // namespace pawl::zookeeper
