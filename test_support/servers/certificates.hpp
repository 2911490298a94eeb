// Certificates for tests, made by the openssl command in about a tenth of a second.
#pragma once

#include "test_support/servers/process.hpp"

#include <filesystem>
#include <string>

namespace pawl::testing_servers {

// Made once and kept for the life of the object. Every key lies beside its certificate.
class certificates {
public:
    certificates();

    std::string ca() const { return at("ca.crt"); }
    std::string other_ca() const { return at("other-ca.crt"); }  // has signed none of the others
    // For localhost and 127.0.0.1.
    std::string server() const { return at("server.crt"); }
    std::string server_key() const { return at("server.key"); }
    // The same, but its time is over since long.
    std::string expired() const { return at("expired.crt"); }
    std::string expired_key() const { return at("expired.key"); }
    std::string client() const { return at("client.crt"); }
    std::string client_key() const { return at("client.key"); }

private:
    std::string at(const char* name) const { return (folder_.path() / name).string(); }
    void make_authority(const std::string& name);
    void make_request(const std::string& name, const std::string& subject);
    void sign(const std::string& name, const std::string& extensions);
    void sign_expired(const std::string& name, const std::string& extensions);

    temporary_folder folder_;
};

}  // namespace pawl::testing_servers
