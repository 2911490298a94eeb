// What a URL may say about TLS.
#pragma once

#include <string>

namespace pawl::net {

// Each PEM file may also be given as its text, from its first "-----BEGIN ".
struct tls_settings {
    std::string ca;           // PEM file of the trusted authorities; empty: the system's
    std::string certificate;  // PEM file of our own certificate; empty: none
    std::string key;          // PEM file of its key; empty: it is in the certificate's file
    std::string server_name;  // what the peer's certificate must name; empty: the host dialled
};

}  // namespace pawl::net
