#include "tests/crash/network_link.hpp"

#include "tests/crash/separate_network.hpp"
#include "tests/crash/way.hpp"

namespace pawl::crash {
namespace {

using testing_faults::direction;

class real_link : public network_link {
public:
    real_link(int number, std::vector<std::uint16_t> servers, url_maker url)
        : network_{number}, servers_{std::move(servers)}, url_{url} {}
    place far_end() const override {
        return {url_(network_.our_address(), servers_, node_timeout), network_.prefix()};
    }
    void cut() override { network_.cut(); }
    void mend() override { network_.mend(); }

private:
    separate_network network_;
    std::vector<std::uint16_t> servers_;
    url_maker url_;
};

class proxied_link : public network_link {
public:
    proxied_link(const std::vector<std::uint16_t>& servers, url_maker url)
        : way_{servers}, url_{url} {}
    place far_end() const override { return {url_("127.0.0.1", way_.ports(), node_timeout)}; }
    void cut() override {
        way_.stall(direction::to_server);
        way_.stall(direction::to_client);
    }
    void mend() override {
        way_.resume(direction::to_server);
        way_.resume(direction::to_client);
    }

private:
    way way_;
    url_maker url_;
};

bool may_administer_networks() {
    constexpr auto cap_net_admin = 1ULL << 12;
    constexpr auto cap_sys_admin = 1ULL << 21;  // a network namespace is named by a mount
    constexpr auto needed = cap_net_admin | cap_sys_admin;
    const std::string status = text_of("/proc/self/status");
    const std::size_t line = status.find("CapEff:\t");
    return (std::stoull(status.substr(line + 8, 16), nullptr, 16) & needed) == needed;
}

}  // namespace

std::string hosts_at(const std::string& host, const std::vector<std::uint16_t>& ports) {
    std::string all;
    for (const auto port : ports)
        all += (all.empty() ? "" : ",") + host + ":" + std::to_string(port);
    return all;
}

std::unique_ptr<network_link> make_link(int number, const std::vector<std::uint16_t>& servers,
                                        url_maker url, addresses how) {
    if (how == addresses::given && may_administer_networks())
        return std::make_unique<real_link>(number, servers, url);
    return std::make_unique<proxied_link>(servers, url);
}

}  // namespace pawl::crash
