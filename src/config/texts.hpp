// What the texts of certain keys have to be like.
#pragma once

#include "base/url.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl::config {

constexpr double renew_fraction_min = 0.01;
constexpr double renew_fraction_max = 0.7;
// Beyond it a third attempt comes late, and is brought forward.
constexpr double renew_fraction_warned = 0.34;

// Each: the byte (from 0) and what is wrong there, or nothing. Written to follow the key's name:
// "has a '/'; …".
std::optional<base::text_fault> url_fault(std::string_view text);  // quotes nothing
std::optional<base::text_fault> path_fault(std::string_view text);
std::optional<base::text_fault> absolute_path_fault(std::string_view text);
std::optional<base::text_fault> account_fault(std::string_view text);
std::optional<base::text_fault> agent_name_fault(std::string_view text);
std::optional<base::text_fault> user_name_fault(std::string_view text);
std::optional<base::text_fault> job_name_fault(std::string_view text);
std::optional<base::text_fault> token_hash_fault(std::string_view text);  // quotes nothing
std::optional<base::text_fault> listen_fault(std::string_view text);
std::optional<base::text_fault> host_fault(std::string_view text);  // without a port

// HOST:PORT, an IPv6 address in brackets. Port 0: any that is free.
base::parsed<base::endpoint> parse_listen(std::string_view text);
// Only this machine can connect to it.
bool is_loopback(const base::endpoint& where);

// What a hash may cost, since it is computed for any caller: 1 GiB, and some seconds.
constexpr std::uint32_t token_hash_memory_kib_max = 1'048'576;
constexpr std::uint32_t token_hash_passes_max = 64;
constexpr std::uint32_t token_hash_lanes_max = 16;

// Whether it has all five parts, and costs within their bounds, so that a user could log in with
// it.
bool is_whole_token_hash(std::string_view text);

}  // namespace pawl::config
