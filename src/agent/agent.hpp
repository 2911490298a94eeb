// An agent: one configuration, one node, until it is told to end.
#pragma once

#include "agent/command_body.hpp"
#include "agent/file_watch.hpp"
#include "agent/systemd_notice.hpp"
#include "config/reading.hpp"
#include "exec/launcher.hpp"
#include "runtime/core.hpp"
#include "schedule/dispatcher.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::agent {

struct agent_parts {
    runtime::core* core = nullptr;
    std::shared_ptr<journal> records{};  // null: nothing is recorded
    const exec::launcher* guards = nullptr;
    config::settings configured{};
    std::string file{};           // its name, to be watched; empty: none
    file_appearance file_seen{};  // before it was read
    std::function<config::parsed_configuration()> read_again{};  // blocks
    addresses stores{};                                          // as commands are told
    std::string version{};
    std::string address{};  // of its API, as others reach it; empty: none
    // Where its API listens, which a socket unit may decide.
    std::optional<base::endpoint> listens{};
    // Another configuration is in force.
    std::function<void(const config::settings&)> on_configured{};
    std::function<void(log_level, std::string_view)> log{};
    std::shared_ptr<schedule::dispatch_observer> observer{};  // beside what is said
};

// How it stands at one moment.
struct condition {
    bool ready = false;
    bool knows_pauses = true;
    bool draining = false;
    std::size_t running = 0;
    std::size_t running_max = 0;
    std::size_t jobs = 0;
    std::vector<std::pair<std::string, std::int64_t>> next_occurrences{};  // Unix milliseconds
};

// On the loop of its core only. All parts outlive it.
class agent : public std::enable_shared_from_this<agent> {
public:
    explicit agent(agent_parts made_of);
    ~agent();

    // Ends when SIGTERM or SIGINT has come and everything that ran has ended, or been ended: the
    // second signal ends the drain of the first. SIGHUP, and a changed file, bring a new
    // configuration, if nothing is wrong with it. False where it has ended by itself, as no command
    // could start any more.
    static boost::asio::awaitable<bool> run(std::shared_ptr<agent> self);

    condition look() const;

private:
    static boost::asio::awaitable<void> watch_signals(std::shared_ptr<agent> self);
    static boost::asio::awaitable<void> watch_file(std::shared_ptr<agent> self);
    static boost::asio::awaitable<void> reload(std::shared_ptr<agent> self, std::string why);
    void use(const config::settings& configured);
    void drain(const std::string& why);
    void end_without_launcher();
    std::string summary() const;
    void log(log_level how, std::string_view line) const;

    // Constant after construction
    agent_parts parts_;
    net::loop& loop_;
    const std::shared_ptr<void> alive_ = std::make_shared<char>();  // runs may end later
    std::shared_ptr<const command_context> around_;
    std::shared_ptr<const systemd_notice> notice_;
    // State
    std::unique_ptr<file_watch> watch_;
    config::settings configured_;
    std::shared_ptr<schedule::dispatcher> dispatcher_;
    std::stop_source stop_;
    // The longest of any configuration: runs keep the one with which they started.
    millis grace_max_{0};
    bool reloading_ = false;
    bool reload_again_ = false;
    bool ended_ = false;
    bool has_launcher_ = true;
};

}  // namespace pawl::agent
