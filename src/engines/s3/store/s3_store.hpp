// Leases as objects in a bucket of Amazon S3, or of a server like it, on the core for stores that
// compare and swap.
//
// docs/stores/s3.md says what is in the bucket, and what it costs.
#pragma once

#include "engines/aws/client/service.hpp"
#include "engines/cas/store/make_cas_store.hpp"
#include "engines/cas/store/medium.hpp"
#include "engines/s3/store/bucket.hpp"
#include "net/loop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::s3 {

struct s3_settings {
    store_settings common{};
    std::optional<millis> skew{};  // between the clocks of two answers
    std::string bucket;
    std::string prefix{};  // of all names; empty: none
    addressing how = addressing::virtual_host;
    aws::service_settings service{};
};

// Opens nothing yet. REQUIRES: the names of the bucket and the namespace and the prefix are valid.
std::shared_ptr<lease_store> make_s3_store(net::loop& where, const s3_settings& settings);

// The part of it that is S3's.
std::shared_ptr<cas::medium> make_s3_medium(net::loop& where, const s3_settings& settings);

}  // namespace pawl::s3
