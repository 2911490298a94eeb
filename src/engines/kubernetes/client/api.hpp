// The API server of a cluster, as far as the Lease objects of one namespace need it.
#pragma once

#include "engines/kubernetes/client/bearer.hpp"
#include "engines/kubernetes/client/cluster_access.hpp"
#include "engines/kubernetes/client/error_mapping.hpp"
#include "net/https/https_pool.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::kubernetes {

// A class with a constructor: g++ 12 destroys aggregate temporaries with strings twice inside
// co_await.
struct api_request {
    api_request(verb what, std::string target, std::string body = {})
        : what{what}, target{std::move(target)}, body{std::move(body)} {}

    verb what;
    std::string target;  // behind cluster_access::path
    std::string body;    // JSON; of verb::patch a merge patch
};

// Used on its loop only. Failures begin with the server's address.
class api : public std::enable_shared_from_this<api> {
public:
    // REQUIRES: access.name_space is set.
    static std::shared_ptr<api> make(net::loop& where, cluster_access access);
    // Use make().
    api(net::loop& where, cluster_access access);

    // Where the Lease objects are, or the one of this name.
    std::string leases() const;
    std::string lease(std::string_view name) const;
    // What went wrong with such a request, of a status that is no success.
    failure rejection(verb what, const net::https_response& told) const;

    // Any status is an answer but 401 and 429: the first after the token's file was read again.
    async<net::https_response> ask(api_request wanted, instant until);
    // What a watch tells. Any status but 200 is a failure; of 410, `rejected`.
    async<std::shared_ptr<net::https_pool::lines>> watch(std::string target, instant until);

    const std::string& place() const noexcept { return place_; }
    const std::string& name_space() const noexcept { return access_.name_space; }
    std::optional<finding> examine_tls() const;
    void close() noexcept;

private:
    result<net::https_request> dress(const api_request& wanted);
    net::https_pool& pool();
    // Files that were replaced are read anew by the next request.
    void forget_files_on(const failure& why);

    // Constant after construction
    net::loop& where_;
    const cluster_access access_;
    const std::string place_;
    // On the loop only
    bearer token_;
    std::shared_ptr<net::https_pool> pool_;
};

}  // namespace pawl::kubernetes
