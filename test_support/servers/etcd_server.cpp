#include "test_support/servers/etcd_server.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

constexpr int pause_ms = 20;
constexpr int tries_max = 500;
// Whether one is well is probed, and again; a question has to be answered, however long it stands
// still.
constexpr int probe_seconds = 2, ask_seconds = 30;

std::string in_quotes(const std::string& word) {
    std::string text = "'";
    for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
    return text + "'";
}

std::string name_of(std::size_t index) { return "m" + std::to_string(index); }

std::string address(const std::string& scheme, std::uint16_t port) {
    return scheme + "://127.0.0.1:" + std::to_string(port);
}

}  // namespace

etcd_server::etcd_server(etcd_options options)
    : options_{std::move(options)}, user_{server_user({"etcd"})}, members_(options_.members) {
    hand_over(folder_.path(), user_);
    for (auto& each : members_) {
        each.client_port = free_port();
        each.peer_port = free_port();
    }
    for (std::size_t i = 0; i < members_.size(); ++i) begin(i);
    wait_until_healthy();
    if (!options_.root_password.empty()) ask_for_logins();
}

std::vector<std::string> etcd_server::command(std::size_t index) const {
    const auto& mine = members_[index];
    std::string cluster;
    for (std::size_t i = 0; i < members_.size(); ++i)
        cluster += (i == 0 ? "" : ",") + name_of(i) + "=" + address("http", members_[i].peer_port);
    const auto listening = options_.open_to_all
                               ? scheme() + "://0.0.0.0:" + std::to_string(mine.client_port)
                               : address(scheme(), mine.client_port);
    // A lone node need not wait long for votes.
    const bool alone = members_.size() == 1;
    std::vector<std::string> words{"etcd",
                                   "--name",
                                   name_of(index),
                                   "--data-dir",
                                   (folder_.path() / name_of(index)).string(),
                                   "--listen-client-urls",
                                   listening,
                                   "--advertise-client-urls",
                                   address(scheme(), mine.client_port),
                                   "--listen-peer-urls",
                                   address("http", mine.peer_port),
                                   "--initial-advertise-peer-urls",
                                   address("http", mine.peer_port),
                                   "--initial-cluster",
                                   cluster,
                                   "--heartbeat-interval",
                                   alone ? "10" : "50",
                                   "--election-timeout",
                                   alone ? "100" : "500",
                                   "--logger",
                                   "zap",
                                   "--bcrypt-cost",
                                   "4",
                                   "--unsafe-no-fsync"};
    if (options_.tls) {
        const auto& tls = *options_.tls;
        words.insert(words.end(),
                     {"--cert-file", options_.tls_expired ? tls.expired() : tls.server(),
                      "--key-file", options_.tls_expired ? tls.expired_key() : tls.server_key()});
        if (options_.tls_wants_client)
            words.insert(words.end(), {"--client-cert-auth", "--trusted-ca-file", tls.ca()});
    }
    words.insert(words.end(), options_.more.begin(), options_.more.end());
    return words;
}

std::string etcd_server::log(std::size_t index) const {
    return (folder_.path() / (name_of(index) + ".log")).string();
}

void etcd_server::begin(std::size_t member) {
    members_[member].server = process{command(member), user_, log(member)};
}

void etcd_server::start(std::size_t member) {
    begin(member);
    wait_until_healthy();
}

void etcd_server::restart() {
    for (auto& each : members_) each.server.stop();
    for (std::size_t i = 0; i < members_.size(); ++i) begin(i);
    wait_until_healthy();
}

void etcd_server::crash(std::size_t member) { members_[member].server.kill(); }

void etcd_server::lose_data() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        crash(i);
        std::filesystem::remove_all(folder_.path() / name_of(i));
    }
    logins_ = false;
    for (std::size_t i = 0; i < members_.size(); ++i) begin(i);
    wait_until_healthy();
}

void etcd_server::save_backup() const {
    const auto file = folder_.path() / "backup";
    std::filesystem::remove(file);
    ask({"snapshot", "save", file.string()});
    hand_over(file, user_);
}

// As etcd's manual says: the token of the cluster is another, and so is its identity.
void etcd_server::restore_backup() {
    crash(0);
    const auto data = folder_.path() / name_of(0);
    std::filesystem::remove_all(data);
    const auto peer = address("http", members_[0].peer_port);
    ask({"snapshot", "restore", (folder_.path() / "backup").string(), "--name", name_of(0),
         "--data-dir", data.string(), "--initial-cluster", name_of(0) + "=" + peer,
         "--initial-advertise-peer-urls", peer, "--initial-cluster-token", "restored"});
    for (const auto& entry : std::filesystem::recursive_directory_iterator{data})
        hand_over(entry.path(), user_);
    hand_over(data, user_);
    start(0);
}

void etcd_server::save_folders() {
    for (auto& each : members_) each.server.stop();
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto copy = folder_.path() / (name_of(i) + ".copy");
        std::filesystem::remove_all(copy);
        std::filesystem::copy(folder_.path() / name_of(i), copy,
                              std::filesystem::copy_options::recursive);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) begin(i);
    wait_until_healthy();
}

void etcd_server::restore_folders() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        crash(i);
        const auto data = folder_.path() / name_of(i);
        std::filesystem::remove_all(data);
        std::filesystem::copy(folder_.path() / (name_of(i) + ".copy"), data,
                              std::filesystem::copy_options::recursive);
        for (const auto& entry : std::filesystem::recursive_directory_iterator{data})
            hand_over(entry.path(), user_);
        hand_over(data, user_);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) begin(i);
    wait_until_healthy();
}

void etcd_server::freeze(std::size_t member) const { members_[member].server.freeze(); }
void etcd_server::thaw(std::size_t member) const { members_[member].server.thaw(); }

// A certificate that has expired is the server's own business: whether it is up shows in its log.
bool etcd_server::healthy() const {
    if (options_.tls_expired) {
        std::ostringstream text;
        if (std::FILE* file = std::fopen(log(0).c_str(), "r")) {
            std::array<char, 4096> some;
            while (const auto got = std::fread(some.data(), 1, some.size(), file))
                text.write(some.data(), static_cast<std::streamsize>(got));
            std::fclose(file);
        }
        return text.str().find("serving client traffic securely") != std::string::npos ||
               text.str().find("ready to serve client requests") != std::string::npos;
    }
    int status = 0;
    run({"endpoint", "health"}, status, probe_seconds);
    return status == 0;
}

std::size_t etcd_server::watchers(std::size_t which) const {
    const int link = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port(which));
    const std::string asked = "GET /metrics HTTP/1.0\r\n\r\n";
    std::string told;
    if (::connect(link, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::send(link, asked.data(), asked.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(asked.size())) {
        std::array<char, 4096> some;
        for (ssize_t got = 0; (got = ::recv(link, some.data(), some.size(), 0)) > 0;)
            told.append(some.data(), static_cast<std::size_t>(got));
    }
    ::close(link);
    const std::string name = "\netcd_debugging_mvcc_watcher_total ";
    const auto place = told.find(name);
    if (place == std::string::npos) throw std::runtime_error{"etcd does not tell its watchers"};
    return std::stoul(told.substr(place + name.size()));
}

void etcd_server::wait_until_healthy() const {
    for (const auto& each : members_)
        if (each.server.is_running()) {
            wait_until_ready(each.server, log(0), [this] { return healthy(); });
            return;
        }
}

void etcd_server::ask_for_logins() {
    ask({"user", "add", "root:" + options_.root_password});
    ask({"user", "grant-role", "root", "root"});
    for (const auto& words : options_.users_and_roles) ask(words);
    ask({"auth", "enable"});
    logins_ = true;
}

std::size_t etcd_server::leader() const {
    for (int i = 0; i < tries_max; ++i) {
        int status = 0;
        std::istringstream lines{run({"endpoint", "status"}, status, probe_seconds)};
        for (std::string line; std::getline(lines, line);) {
            std::vector<std::string> fields;
            std::istringstream parts{line};
            for (std::string part; std::getline(parts, part, ',');) fields.push_back(part);
            if (fields.size() < 5 || fields[4] != " true") continue;
            for (std::size_t m = 0; m < members_.size(); ++m)
                if (fields[0].ends_with(":" + std::to_string(members_[m].client_port))) return m;
        }
        poll(nullptr, 0, pause_ms);
    }
    throw std::runtime_error{"the etcd of the test has no leader"};
}

std::string etcd_server::run(const std::vector<std::string>& words, int& status,
                             int seconds) const {
    // Only those that run are asked: a command waits for all of them.
    std::string endpoints;
    for (const auto& each : members_)
        if (each.server.is_running())
            endpoints += (endpoints.empty() ? "" : ",") + address(scheme(), each.client_port);
    const auto bound = std::to_string(seconds) + "s";
    std::string line = "timeout " + std::to_string(seconds + 10) +
                       " etcdctl --dial-timeout=" + bound + " --command-timeout=" + bound +
                       " --endpoints=" + in_quotes(endpoints);
    if (options_.tls) {
        const auto& tls = *options_.tls;
        line += " --cacert=" + in_quotes(tls.ca()) + " --cert=" + in_quotes(tls.client()) +
                " --key=" + in_quotes(tls.client_key());
    }
    if (logins_) line += " --user=" + in_quotes("root:" + options_.root_password);
    for (const auto& word : words) line += " " + in_quotes(word);
    return output_of(line + " 2>/dev/null", status);
}

std::string etcd_server::ask(const std::vector<std::string>& words) const {
    int status = 0;
    auto text = run(words, status, ask_seconds);
    if (status != 0) throw std::runtime_error{"etcdctl " + words.front() + " failed in the test"};
    return text;
}

}  // namespace pawl::testing_servers
