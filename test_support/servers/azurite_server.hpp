// Microsoft's Azure Blob Storage for one machine, for tests. It has one account, whose key is
// published, and listens on all addresses.
#pragma once

#include "test_support/servers/process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

// Port and data stay the same for the life of the object.
class azurite_server {
public:
    static constexpr auto* account = "devstoreaccount1";
    static constexpr auto* key =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    // Of the whole account, by that key, for longer than any test.
    static constexpr auto* signature =
        "sv=2019-12-12&ss=b&srt=sco&sp=rwdlac&se=2099-01-01T00%3A00%3A00Z&spr=https,http&sig="
        "0inStVod1SiNNw%2FCJ4fRrpJIdRZAadbisT7bZCD4KQs%3D";

    azurite_server();

    std::uint16_t port() const noexcept { return port_; }

    // Stopped in good order, or killed, and started again with its data.
    void restart();
    void crash();
    // Returns when it serves.
    void start();
    // Killed, and started again with nothing.
    void lose_data();
    // Returns when it stands still.
    void freeze() const { server_.freeze(); }
    void thaw() const { server_.thaw(); }

    // What a request without a body is answered, head and all. The target is behind the account:
    // /CONTAINER/BLOB. `fields` are lines, each with its end.
    std::string ask(const std::string& method, const std::string& target,
                    const std::string& fields = "") const;

private:
    // It answers before it has saved: returns when all that it has answered is on its disk.
    void wait_until_saved();

    temporary_folder folder_;
    std::string user_;
    std::filesystem::path program_;
    std::uint16_t port_;
    process server_;
    int saved_ = 0;
};

}  // namespace pawl::testing_servers
