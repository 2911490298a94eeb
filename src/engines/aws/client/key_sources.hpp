// The sources of keys, each asked in its own way.
#pragma once

#include "engines/aws/client/credentials.hpp"
#include "net/refreshed.hpp"

#include <memory>
#include <string_view>

namespace pawl::aws {

using found_keys = net::fetched<key_pair>;

// Asks the first source that is configured.
async<found_keys> find_keys(net::loop& where, std::shared_ptr<const credential_settings> from,
                            instant until);

// Where a task may be asked for keys in the clear: the addresses of AWS's own agents, and this
// machine.
bool is_trusted_container_url(std::string_view url);

}  // namespace pawl::aws
