// What an HTTP status says of a request, whether the service or something before it has answered.
#pragma once

namespace pawl::net {

// It was turned away before anything was done: too early (425), too many requests (429).
constexpr bool is_turned_away(unsigned status) noexcept { return status == 425 || status == 429; }

// How far it has come is not known: a server failed, or a balancer waited no longer (408).
constexpr bool is_undecided(unsigned status) noexcept { return status == 408 || status >= 500; }

}  // namespace pawl::net
