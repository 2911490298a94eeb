#include "engines/zookeeper/client/addresses.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace pawl::zookeeper {
namespace {

using boost::asio::ip::tcp;
using resolver_type = boost::asio::ip::basic_resolver<tcp, net::loop::io_executor_type>;

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
    resolver_type resolver{executor};
    for (const auto& one : servers) {
        if (is_address(one)) {
            found.push_back(one);
            continue;
        }
        boost::system::error_code error;
        const auto port = std::to_string(one.port);
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        const auto entries = co_await resolver.async_resolve(one.host, port, token);
        if (error && !missing)
            missing = failure{errc::unreachable, place_of(one) + ": " + error.message()};
        for (const auto& entry : entries)
            found.push_back({entry.endpoint().address().to_string(), one.port});
    }
    if (found.empty())
        co_return missing.value_or(failure{errc::unreachable, "the name has no address"});
    co_return found;
}

}  // namespace pawl::zookeeper
