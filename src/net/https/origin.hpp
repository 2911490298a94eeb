// The address of a service as people and environments write it, and one request to it.
#pragma once

#include "net/https/https_pool.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pawl::net {

// https://host[:port] or http://host[:port], without anything behind it; nothing for other texts.
// The proxy of the environment is taken where there is one.
std::optional<https_settings> parse_origin(std::string_view text);

// http://host:port/path?query in two; the target of one without a path is "/". What is no URL comes
// back as the origin.
struct split_url {
    std::string origin;
    std::string target;
};
split_url split_origin(std::string_view url);

// One request to a service that is asked a few times a day, such as one that hands out credentials.
// In the clear it is asked without a proxy: it is on this host. `denied`: `origin` is none.
async<https_response> ask_once(loop& where, std::string origin, https_request request,
                               instant until);

}  // namespace pawl::net
