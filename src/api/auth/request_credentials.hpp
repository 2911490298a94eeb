// What a request shows of who sends it: a token, cookies, and whose page it comes from.
#pragma once

#include "http/message.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

// Cookies of one name that are looked at.
constexpr std::size_t cookies_max = 64;

// Of `Authorization: Bearer TOKEN`; nothing when there is none of that scheme.
std::optional<std::string_view> bearer_of(const http::request& request);

// The values of the cookies of that name, the first few. Several are there when a server has set
// one for another path.
std::vector<std::string_view> cookies_of(const http::request& request, std::string_view name);

// Whether its method only reads, by RFC 9110.
bool is_reading(const http::request& request);

// Whether a browser says that a page of another site asks. What is no browser says nothing.
bool is_from_other_site(const http::request& request);

// Not by way of a proxy that runs here, either.
bool is_from_this_machine(const http::request& request);

// Whether Host is another name than those of this machine and `hosts`, on a listener that only this
// machine reaches. A page of a foreign name has been let resolve to this machine then (DNS
// rebinding), and its scripts would read what needs no saying who one is.
bool is_for_other_host(const http::request& request, const std::vector<std::string>& hosts);

// A page for people who opened a login link that does not work.
http::response login_rejected_page();

}  // namespace pawl::api
