#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "engines/zookeeper/store/make_zookeeper_store.hpp"

#include <algorithm>

namespace pawl::assembly {
namespace {

// "/a/b" of a URL that ends in /a/b; empty for none.
std::string chroot_of(std::string path) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    if (path.empty()) return {};
    std::string chroot = "/" + path;
    for (std::size_t at = 1; at <= chroot.size();) {
        const auto end = std::min(chroot.find('/', at), chroot.size());
        const auto part = chroot.substr(at, end - at);
        if (part.empty() || part == "." || part == ".." ||
            base::find_unprintable(part) != part.npos)
            throw option_error{
                "zookeeper: '" + base::printable(chroot) +
                "' is not the path of a znode: a chroot looks like /locks/production"};
        at = end + 1;
    }
    if (chroot == "/zookeeper" || chroot.starts_with("/zookeeper/"))
        throw option_error{"zookeeper: /zookeeper is the server's own: choose another chroot"};
    return chroot;
}

// What only a client with TLS could do.
void reject_tls(parameters& query) {
    for (const std::string name : {"ca", "cert", "key", "tls_server_name"})
        if (query.text(name))
            throw option_error{name +
                               "=: ZooKeeper's C client has no TLS (and no SASL) here: put a "
                               "tunnel such as stunnel in front, and drop this parameter; see "
                               "docs/stores/zookeeper.md"};
}

}  // namespace

store_plan plan_zookeeper(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    zookeeper::zookeeper_settings settings;
    settings.common = plan.settings;
    settings.user = url.user.value_or("");
    settings.password = query.password().value_or("");
    if (url.endpoints.empty())
        throw option_error{"zookeeper: needs a host, such as zookeeper://127.0.0.1:2181"};
    settings.servers.clear();
    for (const auto& endpoint : url.endpoints) {
        zookeeper::server one;
        one.host = endpoint.host;
        if (endpoint.port != 0) one.port = endpoint.port;
        settings.servers.push_back(std::move(one));
    }
    settings.chroot = chroot_of(url.path);
    if (settings.chroot.empty() && settings.common.name_space == "zookeeper")
        throw option_error{"zookeeper: /zookeeper is the server's own: choose another namespace="};
    if (settings.user.find(':') != std::string::npos)
        throw option_error{"zookeeper: a user of digest authentication has no ':' in its name"};
    const auto acl = query.choice("acl", {"open", "creator"});
    const bool logs_in = !settings.user.empty();
    if (acl == 1u && !logs_in)
        throw option_error{"invalid acl 'creator'; expected user:password@ in the URL as well"};
    settings.who =
        acl.value_or(logs_in ? 1 : 0) == 1 ? zookeeper::access::creator : zookeeper::access::open;
    reject_tls(query);
    query.finish();
    plan.make = [settings](net::loop& where) {
        return zookeeper::make_zookeeper_store(where, settings);
    };
    return plan;
}

}  // namespace pawl::assembly
