#include "api/limits/fair_network_queue.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>

namespace pawl::api {
namespace {

namespace ip = boost::asio::ip;

template <class Address>
std::string network_text(const Address& of, std::size_t bytes_kept) {
    auto bytes = of.to_bytes();
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes_kept), bytes.end(),
              static_cast<unsigned char>(0));
    return Address{bytes}.to_string() + "/" + std::to_string(8 * bytes_kept);
}

networks networks_of(const ip::address_v4& address) {
    if (address.is_loopback()) return {"loopback", "loopback"};
    return {network_text(address, 2), network_text(address, 3)};
}

}  // namespace

networks networks_of(std::string_view address) {
    boost::system::error_code error;
    const auto read = ip::make_address(std::string{address.substr(0, address.find('/'))}, error);
    if (error) return {std::string{address}, std::string{address}};
    if (read.is_v4()) return networks_of(read.to_v4());
    const auto v6 = read.to_v6();
    if (v6.is_v4_mapped()) return networks_of(ip::make_address_v4(ip::v4_mapped, v6));
    // An address_group, whose host part is zero, would be the unspecified address.
    if (v6.is_loopback() || v6.is_unspecified()) return {"loopback", "loopback"};
    return {network_text(v6, 6), network_text(v6, 8)};
}

}  // namespace pawl::api
