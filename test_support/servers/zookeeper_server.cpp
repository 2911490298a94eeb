#include "test_support/servers/zookeeper_server.hpp"

#include <pawl/clock.hpp>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

constexpr std::chrono::seconds timeout{60};

void until(const std::string& what, const std::function<bool()>& holds) {
    const auto give_up = lease_clock::now() + timeout;
    while (!holds()) {
        if (lease_clock::now() > give_up) throw std::runtime_error{"ZooKeeper: never " + what};
        poll(nullptr, 0, 5);
    }
}

}  // namespace

zookeeper_server::zookeeper_server(zookeeper_options options)
    : zookeeper_server{std::move(options), 0, {}} {
    start();
}

zookeeper_server::zookeeper_server(zookeeper_options options, int number,
                                   const std::vector<std::string>& peers)
    : options_{std::move(options)},
      user_{server_user({"zookeeper"})},
      port_{free_port()},
      tls_port_{options_.tls ? free_port() : std::uint16_t{0}},
      number_{number} {
    write_configuration(peers);
    hand_over(folder_.path(), user_);
}

void zookeeper_server::write_configuration(const std::vector<std::string>& peers) {
    const auto data = folder_.path() / "data";
    std::filesystem::create_directory(data);
    if (number_ > 0) std::ofstream{data / "myid"} << number_ << "\n";
    hand_over(data, user_);
    std::ofstream out{folder_.path() / "zoo.cfg"};
    out << "tickTime=" << options_.tick.count()
        << "\ninitLimit=25\nsyncLimit=10\ndataDir=" << data.string()
        << "\nclientPortAddress=127.0.0.1\nclientPort=" << port_
        << "\nminSessionTimeout=" << options_.session_min.count()
        << "\nmaxSessionTimeout=" << options_.session_max.count()
        << "\nmaxClientCnxns=0\n4lw.commands.whitelist=*\n";
    for (const auto& peer : peers) out << peer << "\n";
    const auto store = (folder_.path() / "store.p12").string();
    if (options_.tls) {
        run_command({"openssl", "pkcs12", "-export", "-in", options_.tls->server(), "-inkey",
                     options_.tls->server_key(), "-out", store, "-passout", "pass:secret"});
        hand_over(store, user_);
        out << "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
               "secureClientPortAddress=127.0.0.1\nsecureClientPort="
            << tls_port_ << "\nssl.keyStore.location=" << store
            << "\nssl.keyStore.password=secret\nssl.keyStore.type=PKCS12\nssl.trustStore.location="
            << options_.tls->ca() << "\nssl.trustStore.type=PEM\nssl.clientAuth=none\n";
    }
    for (const auto& line : options_.more) out << line << "\n";
    std::ofstream{folder_.path() / "simplelogger.properties"}
        << "org.slf4j.simpleLogger.defaultLogLevel=warn\n";
}

void zookeeper_server::launch() {
    const std::string jars = "/usr/share/java/";
    auto path = folder_.path().string();
    for (const auto* jar : {"zookeeper", "netty-codec", "netty-resolver", "netty-common",
                            "netty-transport-native-unix-common", "slf4j-simple"})
        path += ":" + jars + jar + ".jar";
    // Small and quick to start; forceSync=no as the folder is in memory.
    std::vector<std::string> words{"java",
                                   "-Xms32m",
                                   "-Xmx160m",
                                   "-XX:+UseSerialGC",
                                   "-XX:TieredStopAtLevel=1",
                                   "-Djava.net.preferIPv4Stack=true",
                                   "-Dzookeeper.admin.enableServer=false",
                                   "-Dzookeeper.forceSync=no"};
    for (const auto& one : options_.properties) words.push_back("-D" + one);
    words.insert(words.end(), {"-cp", path, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                               (folder_.path() / "zoo.cfg").string()});
    server_ = process{words, user_, folder_.path() / "log"};
}

void zookeeper_server::start() {
    launch();
    wait_until_ready(server_, folder_.path() / "log", [this] { return !mode().empty(); });
}

void zookeeper_server::restart() {
    server_.stop();
    start();
}

void zookeeper_server::crash() { server_.kill(); }

void zookeeper_server::lose_data() {
    server_.kill();
    std::filesystem::remove_all(folder_.path() / "data" / "version-2");
    start();
}

void zookeeper_server::copy_data(const std::string& from, const std::string& to) const {
    std::filesystem::remove_all(folder_.path() / to);
    std::filesystem::copy(folder_.path() / from, folder_.path() / to,
                          std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::recursive_directory_iterator{folder_.path() / to})
        hand_over(entry.path(), user_);
    hand_over(folder_.path() / to, user_);
}

void zookeeper_server::save_data() {
    server_.stop();
    copy_data("data", "copy");
    start();
}

void zookeeper_server::restore_data() {
    server_.kill();
    copy_data("copy", "data");
    start();
}

void zookeeper_server::freeze() const { server_.freeze(); }
void zookeeper_server::thaw() const { server_.thaw(); }

std::string zookeeper_server::ask(const std::string& word) const {
    const int link = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port_);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string reply;
    if (connect(link, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 &&
        send(link, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
        char bytes[4096];
        pollfd ready{link, POLLIN, 0};
        while (poll(&ready, 1, 2000) == 1) {
            const auto got = recv(link, bytes, sizeof bytes, 0);
            if (got <= 0) break;
            reply.append(bytes, static_cast<std::size_t>(got));
        }
    }
    close(link);
    return reply;
}

long zookeeper_server::measure(const std::string& name) const {
    long measured = 0;
    until("tells " + name, [&] {
        std::istringstream lines{ask("mntr")};
        std::string word, value;
        while (lines >> word) {
            std::getline(lines, value);
            if (word != name) continue;
            measured = std::stol(value);
            return true;
        }
        return false;
    });
    return measured;
}

std::string zookeeper_server::mode() const {
    std::istringstream lines{ask("srvr")};
    std::string line;
    while (std::getline(lines, line))
        if (line.starts_with("Mode: ")) return line.substr(6);
    return {};
}

zookeeper_ensemble::zookeeper_ensemble(zookeeper_options options) {
    std::vector<std::string> peers;
    for (int i = 1; i <= 3; ++i)
        peers.push_back("server." + std::to_string(i) + "=127.0.0.1:" +
                        std::to_string(free_port()) + ":" + std::to_string(free_port()));
    for (int i = 1; i <= 3; ++i) servers_.emplace_back(new zookeeper_server{options, i, peers});
    for (auto& one : servers_) one->launch();
    wait_until_serving();
}

std::string zookeeper_ensemble::hosts() const {
    std::string text;
    for (const auto& one : servers_)
        text += (text.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->port());
    return text;
}

std::vector<std::uint16_t> zookeeper_ensemble::ports() const {
    std::vector<std::uint16_t> all;
    for (const auto& one : servers_) all.push_back(one->port());
    return all;
}

zookeeper_server& zookeeper_ensemble::leader() {
    zookeeper_server* found = nullptr;
    until("has a leader", [&] {
        for (auto& one : servers_)
            if (one->server_.is_running() && one->mode() == "leader") found = one.get();
        return found != nullptr;
    });
    return *found;
}

zookeeper_server& zookeeper_ensemble::follower() {
    zookeeper_server* found = nullptr;
    until("has a follower", [&] {
        for (auto& one : servers_)
            if (one->server_.is_running() && one->mode() == "follower") found = one.get();
        return found != nullptr;
    });
    return *found;
}

void zookeeper_ensemble::save_data() {
    for (auto& one : servers_) one->stop();
    for (auto& one : servers_) one->copy_data("data", "copy");
    for (auto& one : servers_) one->launch();
    wait_until_serving();
}

void zookeeper_ensemble::restore_data() {
    for (auto& one : servers_) one->crash();
    for (auto& one : servers_) one->copy_data("copy", "data");
    for (auto& one : servers_) one->launch();
    wait_until_serving();
}

void zookeeper_ensemble::wait_until_serving() {
    until("serves", [&] {
        for (auto& one : servers_)
            if (one->mode().empty()) return false;
        return true;
    });
}

}  // namespace pawl::testing_servers
