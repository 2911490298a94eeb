#include "cli/demo/demo_serve.hpp"

#include "base/duration.hpp"
#include "cli/clients/journal_client.hpp"
#include "cli/clients/login_file.hpp"
#include "cli/demo/self_process.hpp"
#include "cli/output/output.hpp"
#include "exec/descriptor.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>

namespace pawl::cli {
namespace {

constexpr std::uint16_t first_port = 7295;
constexpr std::uint16_t ports_tried = 100;
// What is left of it passes between a forced release and the next grant, so a user who tries that
// in the web UI sees the job run soon.
constexpr millis hoarder_ttl{30'000};
constexpr std::string_view link_word = "open ";
// Between two looks at whether an agent offers its link.
constexpr int link_look_ms = 20;

// Something of each kind: short and long, partitioned, failing, rare; and one whose key a process
// holds that will never give it back.
constexpr std::string_view jobs = R"([defaults]
ttl = "10s"
grace = "2s"

[[job]]
name = "invoices"
description = "Sends what is due. Each invoice once."
schedule = "@every 5s"
command = ["/bin/sh", "-c", "echo invoice $PAWL_OCCURRENCE, token $PAWL_FENCE_TOKEN; sleep 1"]

[[job]]
name = "reindex"
description = "The search index, in three parts over the nodes."
schedule = "@every 20s"
partitions = 3
command = ["/bin/sh", "-c", "for page in 1 2 3 4 5 6 7 8; do echo part $PAWL_PARTITION, page $page; sleep 1; done"]

[[job]]
name = "daily-report"
description = "Rests until six in the morning in Paris."
schedule = "0 6 * * *"
zone = "Europe/Paris"
command = ["/bin/sh", "-c", "echo the report of $PAWL_OCCURRENCE"]

[[job]]
name = "sync-prices"
description = "Fails every time, after one retry."
schedule = "@every 45s"
command = ["/bin/sh", "-c", "echo the price list cannot be reached >&2; exit 3"]
retries = { max = 1, backoff = "2s" }

[[job]]
name = "export"
description = "Blocked: another client holds its key."
schedule = "@every 15s"
overlap = "queue"
command = ["/bin/sh", "-c", "echo exported; sleep 1"]
)";

std::string configure(const std::string& store, const std::string& folder, const std::string& node,
                      std::uint16_t port) {
    const auto file = folder + "/" + node + "-serve.toml";
    std::ofstream{file} << "store = \"" << store << "\"\n[agent]\nname = \"" << node
                        << "\"\nlisten = \"127.0.0.1:" << port << "\"\nmax_concurrent_runs = 4\n"
                        << jobs;
    return file;
}

// The link of an agent, which it offers in a file once it listens; empty if it ended before.
std::string await_link(self_process& node) {
    config::agent_settings of;
    of.name = node.name();
    const auto path = login_file_path(of);
    while (node.is_talking()) {
        if (auto link = offered_login_link(path)) return *std::move(link);
        pollfd output{node.descriptor(), POLLIN, 0};
        if (::poll(&output, 1, link_look_ms) > 0) node.read([](const std::string&) {});
    }
    return {};
}

void print_links(const std::vector<self_process>& nodes, const std::vector<std::string>& links) {
    std::cout << "\nThe web UI is up, on each of " << nodes.size()
              << " agents. These links log in, each once:\n\n";
    for (std::size_t i = 0; i < nodes.size(); ++i)
        std::cout << "  " << nodes[i].name() << "  " << links[i] << '\n';
    std::cout
        << "\nThree things to find there:\n"
           "  who holds a lock               Locks, then its key\n"
           "  why the job export is blocked  Jobs, then export\n"
           "  how to free its key            Locks, job/export, Force release; export runs within\n"
           "                                 "
        << base::format_duration(hoarder_ttl)
        << ", when its lease would have expired\n\n"
           "Ctrl-C ends it."
        << std::endl;
}

// An agent whose link has been used prints the next one, for the next browser.
class later_login_links {
public:
    later_login_links(boost::asio::io_context& context, self_process& node, bool told)
        : output_{context, dup(node.descriptor())}, node_{node}, told_{told} {
        watch();
    }

private:
    void watch() {
        output_.async_wait(output_.wait_read, [this](boost::system::error_code ended) {
            if (ended) return;
            node_.read([this](const std::string& line) {
                if (told_ && line.rfind(link_word, 0) == 0)
                    std::cout << "  " << node_.name() << "  " << line.substr(link_word.size())
                              << std::endl;
            });
            if (node_.is_talking()) watch();
        });
    }

    boost::asio::posix::stream_descriptor output_;
    self_process& node_;
    bool told_;
};

void wait_for_the_end(std::vector<self_process>& nodes, bool told) {
    boost::asio::io_context context;
    boost::asio::signal_set signals{context, SIGINT, SIGTERM};
    signals.async_wait([&context](boost::system::error_code, int) { context.stop(); });
    std::deque<later_login_links> links;
    for (auto& one : nodes) links.emplace_back(context, one, told);
    context.run();
}

// Those of the proof have ended, some of them without a word.
void forget_nodes(const globals& options, const std::string& store) {
    globals where = options;
    where.store = store;
    where.journal = store;
    journal_client records{where};
    for (const auto& one : records.ask(records.verbs().list_nodes()))
        records.ask(records.verbs().node_leave(one.id));
}

}  // namespace

std::uint16_t free_port_from(std::uint16_t wanted) {
    for (std::uint16_t port = wanted; port < wanted + ports_tried; ++port) {
        const exec::descriptor probe{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (probe.get() < 0) break;
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        where.sin_port = htons(port);
        if (bind(probe.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0)
            return port;
    }
    return 0;
}

status serve_demo(const globals& options, const std::string& store, const std::string& folder,
                  const std::vector<std::string>& nodes, boost::json::object report) {
    std::vector<self_process> agents;
    std::vector<std::string> links;
    std::uint16_t port = first_port;
    forget_nodes(options, store);
    // Their login files lie where no other agent's do.
    ::setenv("RUNTIME_DIRECTORY", folder.c_str(), 1);
    // A holder that goes on for ever, as a script on a forgotten host does.
    self_process holder{"legacy-import",
                        {"pawl", "--store", store, "--log-level", "error", "exec", "job/export",
                         "--ttl", base::format_duration(hoarder_ttl), "--wait=30s", "--no-journal",
                         "--", "sleep", "infinity"}};
    for (const auto& name : nodes) {
        port = free_port_from(port);
        agents.emplace_back(name, std::vector<std::string>{"pawl", "agent", "--config",
                                                           configure(store, folder, name, port),
                                                           "--log-level", "error"});
        links.push_back(await_link(agents.back()));
        if (links.back().empty())
            throw exit_error{status::io_error, "agent " + name + " did not start"};
        if (port != 0) ++port;
    }
    if (options.json) {
        boost::json::array all;
        for (std::size_t i = 0; i < agents.size(); ++i)
            all.push_back({{"node", agents[i].name()}, {"login", links[i]}});
        report["agents"] = std::move(all);
        print_json(report);
    } else {
        print_links(agents, links);
    }
    wait_for_the_end(agents, !options.json);
    holder.signal(SIGTERM);
    for (auto& one : agents) one.signal(SIGTERM);
    for (auto& one : agents) {
        while (one.is_talking()) one.read([](const std::string&) {});
        one.end();
    }
    return status::done;
}

}  // namespace pawl::cli
