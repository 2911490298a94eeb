// Servers of S3 over a folder of this machine, for tests: one that keeps conditions, and one that
// does not.
#pragma once

#include "test_support/servers/process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

struct s3_options {
    bool open_to_all = false;  // listens on all addresses
};

// The Versity S3 Gateway, which is built from its Go modules once (versitygw.recipe), by Go 1.24 or
// newer. Port and data stay the same for the life of the object.
class s3_server {
public:
    explicit s3_server(s3_options options = {});

    std::uint16_t port() const noexcept { return port_; }
    static constexpr auto* bucket = "pawl-test";
    static constexpr auto* key_id = "test";
    static constexpr auto* key_secret = "secretsecret";

    // The file that an object is.
    std::filesystem::path file_of(const std::string& object) const;

    // Stopped in good order, or killed, and started again with its data.
    void restart();
    void crash() { server_.kill(); }
    // Returns when it serves.
    void start();
    // Killed, and started again with nothing.
    void lose_data();
    // Returns when it stands still.
    void freeze() const { server_.freeze(); }
    void thaw() const { server_.thaw(); }

private:
    void make_bucket() const;

    const s3_options options_;
    std::filesystem::path program_;
    // With extended attributes, where the ETag of an object is.
    temporary_folder folder_{temporary_folder::storage::disk};
    std::string user_;
    std::uint16_t port_;
    int losses_ = 0;
    process server_;
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
