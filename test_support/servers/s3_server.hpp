// Servers of S3 over a folder of this machine, for tests: one that keeps conditions, and one that
// does not.
#pragma once

#include "test_support/servers/data_server.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

struct s3_options {
    bool open_to_all = false;  // listens on all addresses
};

// The Versity S3 Gateway, which is built from its Go modules once (versitygw.recipe), by Go 1.24 or
// newer.
class s3_server : public data_server {
public:
    explicit s3_server(s3_options options = {});

    static constexpr auto* bucket = "pawl-test";
    static constexpr auto* key_id = "test";
    static constexpr auto* key_secret = "secretsecret";

    // The file that an object is.
    std::filesystem::path file_of(const std::string& object) const {
        return data() / bucket / object;
    }

private:
    void prepare() const override;
    process launch() override;
    bool serves() const override;

    const s3_options options_;
    const std::filesystem::path program_;
};

// s3rver, from npm: it answers well to what it does not understand.
class unconditional_s3_server {
public:
    unconditional_s3_server();

    std::uint16_t port() const noexcept { return port_; }
    static constexpr auto* bucket = "pawl-test";
    static constexpr auto* key = "S3RVER";  // id and secret

private:
    temporary_folder folder_;
    std::uint16_t port_;
    process server_;
};

}  // namespace pawl::testing_servers
