#include "engines/zookeeper/client/addresses.hpp"

#include "net/look_up.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace pawl::zookeeper {
namespace {

// A server whose name hangs must not keep the others waiting for ever.
constexpr std::chrono::seconds look_up_timeout{5};

bool is_address(const server& one) {
    boost::system::error_code error;
    boost::asio::ip::make_address(one.host, error);
    return !error;
}

}  // namespace

bool has_names(const std::vector<server>& servers) {
    return !std::all_of(servers.begin(), servers.end(), is_address);
}

async<std::vector<server>> find_addresses(net::loop::executor_type executor,
                                          std::vector<server> servers) {
    std::vector<server> found;
    std::optional<failure> missing;
    for (const auto& one : servers) {
        if (is_address(one)) {
            found.push_back(one);
            continue;
        }
        auto looking = net::look_up(executor, one.host, lease_clock::now() + look_up_timeout);
        const auto addresses = co_await std::move(looking);
        if (addresses.has_error()) {
            if (!missing)
                missing = failure{addresses.error().code,
                                  place_of(one) + ": " + addresses.error().detail};
            continue;
        }
        for (const auto& address : *addresses) found.push_back({address.to_string(), one.port});
    }
    if (found.empty())
        co_return missing.value_or(failure{errc::unreachable, "the name has no address"});
    co_return found;
}

}  // namespace pawl::zookeeper
