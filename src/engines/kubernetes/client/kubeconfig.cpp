// What kubectl keeps of clusters, users, and which of them belong together.
// Source: kubernetes.io, reference "kubeconfig (v1)".
#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/number.hpp"
#include "engines/kubernetes/client/cluster_access.hpp"
#include "net/https/proxy.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace pawl::kubernetes {
namespace {

class config_fault : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// One kubeconfig, whose members throw config_fault.
class kubeconfig {
public:
    kubeconfig(const std::string& text, std::string file) : file_{std::move(file)} {
        root_ = YAML::Load(text);
        if (!root_.IsMap()) throw config_fault{"it holds no mapping"};
    }

    std::string text(const YAML::Node& of, const char* name) const {
        const auto value = of[name];
        if (!value || value.IsNull()) return {};
        if (!value.IsScalar())
            throw config_fault{std::string{"'"} + name + "' is not a string, in line " +
                               std::to_string(value.Mark().line + 1)};
        return value.Scalar();
    }
    std::string current_context() const { return text(root_, "current-context"); }

    // What stands under `kind` in the entry of this name in the list `list`.
    YAML::Node entry(const char* list, const char* kind, const std::string& name) const {
        const auto all = root_[list];
        if (all && all.IsSequence())
            for (const auto& one : all)
                if (one.IsMap() && text(one, "name") == name && one[kind] && one[kind].IsMap())
                    return one[kind];
        throw config_fault{std::string{"there is no "} + kind + " '" + name + "'"};
    }

    // A PEM text from NAME-data, or the path of a file from NAME.
    std::string material(const YAML::Node& of, const std::string& name) const {
        auto inside = text(of, (name + "-data").c_str());
        if (inside.empty()) return path(text(of, name.c_str()));
        std::erase_if(inside, [](char letter) {
            return letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t';
        });
        const auto decoded = base::from_base64(inside);
        const auto begin = decoded ? decoded->find("-----BEGIN ") : std::string::npos;
        if (begin == std::string::npos)
            throw config_fault{"'" + name + "-data' is not PEM text in base64"};
        return decoded->substr(begin);
    }

    // Relative ones are relative to the kubeconfig.
    std::string path(const std::string& name) const {
        if (name.empty()) return name;
        return (std::filesystem::path{file_}.parent_path() / name).string();
    }

private:
    std::string file_;
    YAML::Node root_;
};

bool is_set(const YAML::Node& of, const char* name) { return of[name] && !of[name].IsNull(); }

void take_address(cluster_access& to, std::string_view server) {
    const auto fault = [&] {
        return config_fault{"invalid server '" + std::string{server} +
                            "'; expected https://host[:port]"};
    };
    auto rest = server;
    to.secure = !rest.starts_with("http://");
    if (!to.secure)
        rest.remove_prefix(7);
    else if (rest.starts_with("https://"))
        rest.remove_prefix(8);
    else
        throw fault();
    const auto slash = std::min(rest.find('/'), rest.size());
    to.path = rest.substr(slash);
    while (to.path.ends_with('/')) to.path.pop_back();
    rest = rest.substr(0, slash);
    to.port = to.secure ? 443 : 80;
    const auto colon = rest.rfind(':');
    if (colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos) {
        const auto port =
            base::parse_number_within<std::uint16_t>(rest.substr(colon + 1), 1, 65535);
        if (!port) throw fault();
        to.port = *port;
        rest = rest.substr(0, colon);
    }
    if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
    if (rest.empty() || rest.find_first_of("@?#") != std::string_view::npos) throw fault();
    to.host = rest;
}

void take_cluster(cluster_access& to, const kubeconfig& from, const YAML::Node& cluster) {
    take_address(to, from.text(cluster, "server"));
    to.tls.ca = from.material(cluster, "certificate-authority");
    to.tls.server_name = from.text(cluster, "tls-server-name");
    to.proxy = from.text(cluster, "proxy-url");
    const auto unverified = base::lower(from.text(cluster, "insecure-skip-tls-verify"));
    if (!unverified.empty() && unverified != "false")
        throw config_fault{
            "'insecure-skip-tls-verify' is not supported, as anyone could answer; give the "
            "cluster's certificate-authority"};
}

void take_user(cluster_access& to, const kubeconfig& from, const YAML::Node& user,
               const std::string& name) {
    for (const char* program : {"exec", "auth-provider"})
        if (is_set(user, program))
            throw config_fault{"user '" + name + "' gets its credentials from a program (" +
                               program +
                               "), which pawl does not run; use a token, tokenFile, a client "
                               "certificate or a pod's service account"};
    if (is_set(user, "username") || is_set(user, "password"))
        throw config_fault{"user '" + name +
                           "' has a password, which Kubernetes no longer takes; use a token or a "
                           "client certificate"};
    if (is_set(user, "as"))
        throw config_fault{"user '" + name +
                           "' impersonates another, which pawl does not; use an account of its "
                           "own"};
    to.token = from.text(user, "token");
    to.token_file = from.path(from.text(user, "tokenFile"));
    // As client-go has it, the file wins.
    if (!to.token_file.empty()) to.token.clear();
    to.tls.certificate = from.material(user, "client-certificate");
    to.tls.key = from.material(user, "client-key");
    if (to.tls.certificate.empty() != to.tls.key.empty())
        throw config_fault{"user '" + name + "' needs client-certificate and client-key together"};
}

// Anyone on the way who reads a token is its user. A proxy is on the way, also to this machine.
void reject_token_in_clear(const cluster_access& to) {
    if (to.secure || (to.token.empty() && to.token_file.empty())) return;
    if (net::is_this_machine(to.host) && to.proxy.empty()) return;
    throw config_fault{"a token is not sent in the clear to http://" + to.host +
                       "; expected a server of https://"};
}

}  // namespace

result<cluster_access> parse_kubeconfig(const std::string& text, const std::string& file,
                                        const std::string& context) {
    const auto rejection = [&](const std::string& what) {
        return failure{errc::rejected, "the kubeconfig '" + file + "' cannot be used: " + what};
    };
    try {
        const kubeconfig from{text, file};
        const auto name = context.empty() ? from.current_context() : context;
        if (name.empty())
            throw config_fault{"it has no current-context; choose one by context=NAME"};
        const auto chosen = from.entry("contexts", "context", name);
        cluster_access to;
        to.name_space = from.text(chosen, "namespace");
        take_cluster(to, from, from.entry("clusters", "cluster", from.text(chosen, "cluster")));
        const auto user = from.text(chosen, "user");
        if (!user.empty()) take_user(to, from, from.entry("users", "user", user), user);
        reject_token_in_clear(to);
        return to;
    } catch (const config_fault& fault) {
        return rejection(fault.what());
    } catch (const YAML::Exception& fault) {
        return rejection("invalid YAML: " + fault.msg + ", in line " +
                         std::to_string(fault.mark.line + 1));
    }
}

}  // namespace pawl::kubernetes
