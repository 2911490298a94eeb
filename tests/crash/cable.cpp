#include "tests/crash/cable.hpp"

#include "testing/faults/tcp_proxy.hpp"
#include "tests/crash/separate_network.hpp"

namespace pawl::crash {
namespace {

using testing_faults::direction;

class real_cable : public cable {
public:
    real_cable(int number, std::uint16_t port, url_maker url)
        : network_{number}, port_{port}, url_{url} {}
    place far_end() const override {
        return {url_(network_.our_address(), port_, short_timeout), network_.prefix()};
    }
    void cut() override { network_.cut(); }
    void mend() override { network_.mend(); }

private:
    separate_network network_;
    std::uint16_t port_;
    url_maker url_;
};

class proxied_cable : public cable {
public:
    proxied_cable(std::uint16_t port, url_maker url) : proxy_{port}, url_{url} {}
    place far_end() const override { return {url_("127.0.0.1", proxy_.port(), short_timeout)}; }
    void cut() override {
        proxy_.stall(direction::to_server);
        proxy_.stall(direction::to_client);
    }
    void mend() override {
        proxy_.resume(direction::to_server);
        proxy_.resume(direction::to_client);
    }

private:
    testing_faults::tcp_proxy proxy_;
    url_maker url_;
};

bool may_administer_networks() {
    constexpr int cap_net_admin = 12;
    const std::string status = text_of("/proc/self/status");
    const std::size_t line = status.find("CapEff:\t");
    return (std::stoull(status.substr(line + 8, 16), nullptr, 16) >> cap_net_admin & 1) == 1;
}

}  // namespace

std::unique_ptr<cable> lay_cable(int number, std::uint16_t server_port, url_maker url) {
    if (may_administer_networks()) return std::make_unique<real_cable>(number, server_port, url);
    return std::make_unique<proxied_cable>(server_port, url);
}

}  // namespace pawl::crash
