// The proxy of the environment, and how it is asked for a way to a host.
#pragma once

#include <pawl/errors.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::net {

struct proxy_address {
    std::string host;
    std::uint16_t port = 0;
    std::string authorization;  // of the field Proxy-Authorization; empty: none
};

// http://[user:password@]host[:port][/], without the scheme too; port 3128 unless it says. The
// failure does not quote the text, which may hold a secret.
result<proxy_address> parse_proxy(std::string_view text);

// Whether NO_PROXY, as it stands in the environment, names the host.
bool is_exempt(std::string_view no_proxy, std::string_view host);

// Whether what is sent to the host stays on this machine: localhost, or a loopback address. A name
// such as 127.0.0.1.example is neither.
bool is_this_machine(std::string_view host);
// An address of 169.254.0.0/16, where machines of a cloud find what stands beside them.
bool is_link_local(std::string_view host);

}  // namespace pawl::net
