// Microsoft's Azure Blob Storage for one machine, for tests. It has one account, whose key is
// published, and listens on all addresses.
#pragma once

#include "test_support/servers/data_server.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

class azurite_server : public data_server {
public:
    static constexpr auto* account = "devstoreaccount1";
    static constexpr auto* key =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    // Of the whole account, by that key, for longer than any test.
    static constexpr auto* signature =
        "sv=2019-12-12&ss=b&srt=sco&sp=rwdlac&se=2099-01-01T00%3A00%3A00Z&spr=https,http&sig="
        "0inStVod1SiNNw%2FCJ4fRrpJIdRZAadbisT7bZCD4KQs%3D";

    azurite_server();

    // What a request without a body is answered, head and all. The target is behind the account:
    // /CONTAINER/BLOB. `fields` are lines, each with its end.
    std::string ask(const std::string& method, const std::string& target,
                    const std::string& fields = "") const;

private:
    process launch() override;
    bool serves() const override;
    // It answers before it has saved.
    void save() override;

    const std::filesystem::path program_;
    int saved_ = 0;
};

}  // namespace pawl::testing_servers
