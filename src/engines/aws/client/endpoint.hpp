// Where a service of AWS is asked.
#pragma once

#include "net/https/https_pool.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pawl::aws {

// https://host[:port] or http://host[:port], without anything behind it; nothing for other texts.
// The proxy of the environment is taken where there is one.
std::optional<net::https_settings> parse_endpoint(std::string_view text);

// https://SERVICE.REGION.amazonaws.com, or where the partition of the region has it.
std::string endpoint_of(std::string_view service, std::string_view region);

// Letters, digits and hyphens, such as eu-central-1.
bool is_region(std::string_view text);

}  // namespace pawl::aws
