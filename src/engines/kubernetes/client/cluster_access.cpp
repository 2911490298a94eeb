#include "engines/kubernetes/client/cluster_access.hpp"

#include "base/ascii.hpp"
#include "base/number.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace pawl::kubernetes {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{4} << 20;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

std::optional<std::string> read_file(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    std::ostringstream text;
    if (!in || !(text << in.rdbuf()) || text.str().size() > file_bytes_max) return std::nullopt;
    return text.str();
}

bool exists(const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
}

}  // namespace

cluster_environment cluster_environment::of_process() {
    return {.kubeconfig = variable("KUBECONFIG"),
            .home = variable("HOME"),
            .service_host = variable("KUBERNETES_SERVICE_HOST"),
            .service_port = variable("KUBERNETES_SERVICE_PORT"),
            .account_folder = "/var/run/secrets/kubernetes.io/serviceaccount"};
}

result<cluster_access> service_account(const cluster_environment& here) {
    cluster_access to;
    to.host = here.service_host;
    const auto port = base::parse_number_within<std::uint16_t>(here.service_port, 1, 65535);
    if (!port)
        return failure{errc::rejected, "invalid KUBERNETES_SERVICE_PORT '" + here.service_port +
                                           "'; expected a port from 1 to 65535"};
    to.port = *port;
    to.token_file = here.account_folder + "/token";
    if (!exists(to.token_file))
        return failure{errc::rejected,
                       "this pod has no token in " + here.account_folder +
                           "; set automountServiceAccountToken, or give kubeconfig=PATH"};
    to.tls.ca = here.account_folder + "/ca.crt";
    if (const auto name = read_file(here.account_folder + "/namespace"))
        to.name_space = base::trimmed(name->substr(0, name->find('\n')));
    return to;
}

result<cluster_access> find_cluster(const cluster_choice& wanted, const cluster_environment& here) {
    auto file = wanted.kubeconfig;
    if (file.empty()) file = here.kubeconfig;
    if (file.empty() && wanted.context.empty() && !here.service_host.empty())
        return service_account(here);
    if (file.empty() && !here.home.empty()) file = here.home + "/.kube/config";
    if (file.empty() || (wanted.kubeconfig.empty() && here.kubeconfig.empty() && !exists(file)))
        return failure{errc::rejected,
                       "no cluster: this is not a pod, and there is no kubeconfig; give "
                       "kubeconfig=PATH"};
    if (wanted.kubeconfig.empty() && file.find(':') != std::string::npos)
        return failure{errc::rejected,
                       "KUBECONFIG names several files; give kubeconfig=PATH, to what `kubectl "
                       "config view --flatten` prints"};
    const auto text = read_file(file);
    if (!text) return failure{errc::rejected, "cannot read the kubeconfig '" + file + "'"};
    return parse_kubeconfig(*text, file, wanted.context);
}

}  // namespace pawl::kubernetes
