// What the URLs of services of AWS have in common.
#pragma once

#include "assembly/parameters.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "engines/aws/client/endpoint.hpp"
#include "engines/aws/client/service.hpp"
#include "net/https/origin.hpp"

#include <pawl/errors.hpp>

#include <string>

namespace pawl::assembly {

// Throws option_error for keys in the URL, where they have no place.
inline void reject_credentials(const base::store_url& url) {
    if (!url.user && !url.password) return;
    throw option_error{url.scheme +
                       ": keys have no place in the URL; expected them in the environment, a "
                       "profile, or the role of the host"};
}

// endpoint= or `otherwise`, ca=, cert=, key= and tls_server_name=. Throws option_error.
inline aws::service_settings take_service(parameters& query, const aws::scope& where,
                                          const std::string& otherwise) {
    const auto endpoint = query.text("endpoint").value_or(otherwise);
    const auto at = net::parse_origin(endpoint);
    if (!at)
        throw option_error{"invalid endpoint '" + base::printable(endpoint) +
                           "'; expected http://host[:port] or https://host[:port]"};
    aws::service_settings settings;
    settings.at = *at;
    settings.at.tls = take_tls(query);
    settings.where = where;
    settings.keys = aws::credentials_of_environment(where.region);
    return settings;
}

}  // namespace pawl::assembly
