#include "test_support/servers/kube_server.hpp"

#include "base/base64.hpp"
#include "test_support/servers/set_up_server.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pawl::testing_servers {
namespace {

constexpr int probe_pause_ms = 100;

struct token_user {
    kube_user who;
    const char* name;   // of its context, and its token
    const char* login;  // name,uid,"groups" of a token file
};
constexpr std::array token_users{
    token_user{kube_user::admin, "admin", R"(admin,1,"system:masters")"},
    token_user{kube_user::pawl, "pawl", R"(system:serviceaccount:jobs:pawl-leases,2)"},
    token_user{kube_user::viewer, "viewer", "viewer,3"},
    token_user{kube_user::stranger, "stranger", "stranger,4"},
};

// What all servers of this process share.
struct shared_files {
    certificates tls;
    temporary_folder folder;
};
const shared_files& shared() {
    static const shared_files files;
    return files;
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out{file};
    out << text;
    if (!out.flush()) throw std::runtime_error{"cannot write " + file.string()};
}

std::string token_of_user(const std::string& name) { return "token-of-" + name; }

// The value of a line `name: value` of a manifest, at this depth.
std::string field_in(const std::string& document, const std::string& line_begin) {
    std::istringstream lines{document};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(line_begin)) return line.substr(line_begin.size());
    throw std::runtime_error{"a manifest has no " + line_begin};
}

std::string path_of(const std::string& document, const std::string& name_space) {
    static const std::vector<std::pair<std::string, std::string>> plurals{
        {"ServiceAccount", "serviceaccounts"}, {"Role", "roles"},
        {"RoleBinding", "rolebindings"},       {"CronJob", "cronjobs"},
        {"Deployment", "deployments"},         {"PodDisruptionBudget", "poddisruptionbudgets"}};
    const auto version = field_in(document, "apiVersion: ");
    const auto kind = field_in(document, "kind: ");
    for (const auto& [known, plural] : plurals)
        if (kind == known)
            return (version.find('/') == std::string::npos ? "/api/" : "/apis/") + version +
                   "/namespaces/" + name_space + "/" + plural + "/" +
                   field_in(document, "  name: ");
    throw std::runtime_error{"the test does not know the plural of " + kind};
}

}  // namespace

std::string context_of(kube_user who) {
    for (const auto& one : token_users)
        if (one.who == who) return one.name;
    if (who == kube_user::certificate) return "certificate";
    return who == kube_user::exec ? "exec" : "unknown";
}

std::filesystem::path kubeconfig_for(const std::string& host, std::uint16_t port) {
    const auto& files = shared();
    const auto file = files.folder.path() / (host + "-" + std::to_string(port) + ".kubeconfig");
    std::string contexts, users;
    const auto add = [&](const std::string& name, const std::string& credentials) {
        contexts += "- name: " + name +
                    "\n  context: {cluster: test, namespace: jobs, user: " + name + "}\n";
        users += "- name: " + name + "\n  user: {" + credentials + "}\n";
    };
    for (const auto& one : token_users) add(one.name, "token: " + token_of_user(one.name));
    add("unknown", "token: not-known");
    add("exec", "exec: {apiVersion: client.authentication.k8s.io/v1, command: cloud-login}");
    const auto inlined = [&](const std::string& of) { return base::to_base64(text_of(of)); };
    add("certificate", "client-certificate-data: " + inlined(files.tls.client()) +
                           ", client-key-data: " + inlined(files.tls.client_key()));
    write(file,
          "apiVersion: v1\nkind: Config\ncurrent-context: pawl\nclusters:\n- name: test\n"
          "  cluster:\n    server: https://" +
              host + ":" + std::to_string(port) + "\n    tls-server-name: localhost\n" +
              "    certificate-authority: " + files.tls.ca() + "\ncontexts:\n" + contexts +
              "users:\n" + users);
    return file;
}

kube_server::kube_server(kube_options options)
    : options_{options},
      programs_{set_up_server("kube_apiserver")},
      user_{server_user({"etcd"})},
      port_{free_port()} {
    hand_over(folder_.path(), user_);
    run_command({"openssl", "genrsa", "-out", (folder_.path() / "account.key").string(), "2048"});
    hand_over(folder_.path() / "account.key", user_);
    std::string tokens;
    for (const auto& one : token_users) tokens += token_of_user(one.name) + "," + one.login + "\n";
    write(folder_.path() / "tokens.csv", tokens);
    start();
    set_up();
}

void kube_server::begin() {
    const auto& tls = shared().tls;
    const auto at = [&](const char* name) { return (folder_.path() / name).string(); };
    // The key of the certificates is readable for its own user alone.
    const auto key = at("server.key");
    std::filesystem::copy_file(tls.server_key(), key,
                               std::filesystem::copy_options::overwrite_existing);
    hand_over(key, user_);
    server_ = process{
        {(programs_ / "kube_apiserver").string(),
         "--etcd-servers=http://127.0.0.1:" + std::to_string(data_.port()),
         std::string{"--bind-address="} + (options_.open_to_all ? "0.0.0.0" : "127.0.0.1"),
         "--secure-port=" + std::to_string(port_), "--cert-dir=" + at("made"),
         "--tls-cert-file=" + tls.server(), "--tls-private-key-file=" + key,
         "--client-ca-file=" + tls.ca(), "--token-auth-file=" + at("tokens.csv"),
         "--service-account-issuer=https://kubernetes.test",
         "--service-account-key-file=" + at("account.key"),
         "--service-account-signing-key-file=" + at("account.key"), "--authorization-mode=RBAC",
         "--service-cluster-ip-range=10.0.0.0/24", "--advertise-address=127.0.0.1",
         "--endpoint-reconciler-type=none", "--profiling=false"},
        user_,
        folder_.path() / "log"};
}

void kube_server::start() {
    begin();
    wait_until_ready(server_, folder_.path() / "log", [this] {
        int status = 0;
        const auto told = run_curl("GET", "/readyz", {}, {}, status);
        if (status == 0 && told == "ok") return true;
        poll(nullptr, 0, probe_pause_ms);
        return false;
    });
}

void kube_server::restart() {
    server_.stop();
    start();
}

void kube_server::crash() { server_.kill(); }

void kube_server::lose_data() {
    crash();
    data_.lose_data();
    start();
    set_up();
}

void kube_server::set_up() const {
    ask("POST", "/api/v1/namespaces", R"({"metadata": {"name": "jobs"}})");
    apply(std::filesystem::path{PAWL_DEPLOY_FOLDER} / "kubernetes/lease-store.yaml", "jobs");
    const std::string rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/jobs/";
    ask("POST", rights + "roles",
        R"({"metadata": {"name": "viewer"}, "rules": [{"apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"], "verbs": ["get", "list", "watch"]}]})");
    ask("POST", rights + "rolebindings",
        R"({"metadata": {"name": "viewer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}]})");
    // The client certificate of the tests.
    ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        R"({"metadata": {"name": "certificate"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "lock client"}]})");
}

std::string kube_server::run_curl(const std::string& method, const std::string& path,
                                  const std::string& type, const std::string& body,
                                  int& status) const {
    const auto said = folder_.path() / "body";
    write(said, body);
    std::string line =
        "curl --silent --show-error --fail-with-body --max-time 30 --noproxy '*'"
        " --cacert '" +
        shared().tls.ca() + "' -H 'Authorization: Bearer " + token_of_user("admin") + "' -X " +
        method;
    if (!body.empty())
        line += " -H 'Content-Type: " + type + "' --data-binary @'" + said.string() + "'";
    line += " 'https://localhost:" + std::to_string(port_) + path + "' 2>/dev/null";
    return output_of(line, status);
}

std::string kube_server::ask(const std::string& method, const std::string& path,
                             const std::string& body) const {
    int status = 0;
    auto told = run_curl(method, path,
                         method == "PATCH"       ? "application/merge-patch+json"
                         : body.starts_with('{') ? "application/json"
                                                 : "application/yaml",
                         body, status);
    if (status != 0)
        throw std::runtime_error{"the API server of the test rejects " + method + " " + path +
                                 ": " + told};
    return told;
}

void kube_server::apply(const std::filesystem::path& file, const std::string& name_space) const {
    const auto text = text_of(file);
    for (std::size_t from = 0; from < text.size();) {
        const auto end = std::min(text.find("\n---\n", from), text.size());
        const auto document = text.substr(from, end - from);
        from = end + 5;
        int status = 0;
        const auto path = path_of("\n" + document, name_space);
        const auto told = run_curl("PATCH", path + "?fieldManager=test&fieldValidation=Strict",
                                   "application/apply-patch+yaml", document, status);
        if (status != 0) throw std::runtime_error{file.string() + " cannot be applied: " + told};
    }
}

std::string kube_server::token_of(const std::string& name_space, const std::string& account) const {
    const auto told =
        ask("POST", "/api/v1/namespaces/" + name_space + "/serviceaccounts/" + account + "/token",
            R"({"spec": {}})");
    const std::string before = "\"token\":";
    const auto at = told.find(before);
    const auto begin = at == std::string::npos ? at : told.find('"', at + before.size());
    if (begin == std::string::npos) throw std::runtime_error{"there is no token in " + told};
    return told.substr(begin + 1, told.find('"', begin + 1) - begin - 1);
}

}  // namespace pawl::testing_servers
