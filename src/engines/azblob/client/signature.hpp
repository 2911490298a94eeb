// Shared Key: what proves to Azure Storage that one who asks has a key of the account. Pure
// functions.
//
// Source: "Authorize with Shared Key" in the REST reference of Azure Storage.
#pragma once

#include "net/https/https_pool.hpp"
#include "time/clocks.hpp"

#include <string>
#include <string_view>

namespace pawl::azblob {

// What is signed: the request with all x-ms- fields that it has. The target is percent-encoded, and
// its path begins with whatever the endpoint's does.
std::string string_to_sign(const net::https_request& request, std::string_view account);

// Adds x-ms-date and Authorization. `key` is the bytes of one of the two keys of the account.
void sign(net::https_request& request, std::string_view account, std::string_view key,
          time::wall_instant when);

}  // namespace pawl::azblob
