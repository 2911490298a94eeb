// Signature Version 4: what proves to a service of AWS who asks. Pure functions.
//
// Source: "Create a signed AWS API request" in the AWS Identity and Access Management User Guide.
#pragma once

#include "net/https/https_pool.hpp"
#include "time/clocks.hpp"

#include <string>
#include <string_view>

namespace pawl::aws {

struct key_pair {
    std::string id;
    std::string secret;
    std::string session;  // of keys that end; empty: none
};

struct scope {
    std::string region;
    std::string service;
};

// 20150830T123600Z.
std::string signing_time(time::wall_instant when);

// The canonical form of a request, with all fields that it has and Host. `payload` is the SHA-256
// of its body in hexadecimal. The target is percent-encoded already, and signed like that: services
// other than S3 would want it encoded once more, but they are asked at "/" only.
std::string canonical_request(const net::https_request& request, std::string_view host,
                              std::string_view payload);

// Adds X-Amz-Date, X-Amz-Security-Token where the keys have one, and Authorization.
void sign(net::https_request& request, std::string_view host, const key_pair& keys,
          const scope& where, time::wall_instant when);

}  // namespace pawl::aws
