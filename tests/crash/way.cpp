#include "tests/crash/way.hpp"

#include "tests/crash/observation.hpp"

#include <algorithm>
#include <map>

namespace pawl::crash {

using testing_faults::direction;
using testing_faults::tcp_proxy;

way::way(const std::vector<std::uint16_t>& servers) {
    std::map<std::uint16_t, std::uint16_t> told;
    for (const auto port : servers) {
        proxies_.push_back(std::make_unique<tcp_proxy>(port));
        told[port] = proxies_.back()->port();
    }
    if (servers.size() < 2) return;
    for (const auto& proxy : proxies_) proxy->tell_ports_as(told);
}

std::vector<std::uint16_t> way::ports() const {
    std::vector<std::uint16_t> all;
    for (const auto& proxy : proxies_) all.push_back(proxy->port());
    return all;
}

void way::cut() {
    for (const auto& proxy : proxies_) proxy->cut();
}

void way::reject() {
    for (const auto& proxy : proxies_) proxy->reject();
}

void way::accept_again() {
    for (const auto& proxy : proxies_) proxy->accept_again();
}

void way::stall(direction which) {
    for (const auto& proxy : proxies_) proxy->stall(which);
}

void way::resume(direction which) {
    for (const auto& proxy : proxies_) proxy->resume(which);
}

void way::delay(millis one_way) {
    for (const auto& proxy : proxies_) proxy->delay(one_way);
}

bool way::wait_for_held_bytes(direction which) const {
    return eventually([&] {
        return std::any_of(proxies_.begin(), proxies_.end(),
                           [&](const auto& proxy) { return proxy->held_bytes(which) > 0; });
    });
}

}  // namespace pawl::crash
