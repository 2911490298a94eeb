// The sources of keys, each asked in its own way.
#pragma once

#include "engines/aws/client/credentials.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::aws {

struct found_keys {
    found_keys(key_pair keys, std::string source, std::optional<time::wall_instant> end = {})
        : keys{std::move(keys)}, source{std::move(source)}, end{end} {}

    key_pair keys;
    std::string source;
    std::optional<time::wall_instant> end;  // nothing: they last
};

// Asks the first source that is configured.
async<found_keys> find_keys(net::loop& where, std::shared_ptr<const credential_settings> from,
                            instant until);

// Where a task may be asked for keys in the clear: the addresses of AWS's own agents, and this
// machine.
bool is_trusted_container_url(std::string_view url);

}  // namespace pawl::aws
