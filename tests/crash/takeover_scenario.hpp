// Nodes that want one key, one after another: the holder is hurt, and the next must take over only
// when the holder's command is dead.
#pragma once

#include "tests/crash/observation.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pawl::crash {

// One `pawl exec` with a token writer that ignores SIGTERM and leaves a daemon behind.
class node {
public:
    // What it says goes to the file `messages`.
    node(std::vector<std::string> command_line, const std::string& messages);
    ~node();
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    pid_t pid() const { return pid_; }
    void signal(int number) const;
    // The exit status as a shell says it. Once.
    int wait();

private:
    pid_t pid_ = -1;
};

// How long the leases are. The tests take about this long for each takeover.
constexpr millis scenario_ttl{1000};

// Where a node is: the way to the store from there, and what goes before its command line, such as
// `ip netns exec NAME`.
struct place {
    std::string store_url;
    std::vector<std::string> prefix{};
};

// What must not happen, and what must.
struct findings {
    std::size_t stale_lines = 0;  // lines of an older token behind one of a newer
    std::size_t overlaps = 0;     // commands that began while another was alive
    std::size_t holders = 0;      // nodes whose command has written
    millis longest_gap{0};        // from the last line of one to the first of the next

    bool operator==(const findings&) const = default;
};

class takeover_scenario {
public:
    using act = std::function<void(node& holder)>;

    // Starts a first holder and waits until its command writes. Nodes take the places in turn.
    explicit takeover_scenario(std::vector<place> places);
    ~takeover_scenario();

    // Starts a node that waits for the key, lets the holder write a while (a different while in
    // each round), hurts it, waits until the other's command writes, then heals. The other is the
    // holder from then on. Returns the exit status of the hurt one; 128 + 9 when it was killed.
    // A holder that a busy machine lets stand still past its lease is succeeded before it is hurt,
    // and the round begins anew; throws when that is too frequent to be the machine.
    int take_over(const act& hurt, const act& heal = {});
    // The same, but nobody waits while the holder is hurt: a store that is down turns waiters away.
    int replace(const act& hurt);

    // What was seen in all rounds together.
    findings seen() const;
    // How many holders have lost their lease before they were hurt.
    std::size_t lost_unhurt() const { return lost_unhurt_; }
    // Which of the places the holder has, also while it is being hurt and healed.
    std::size_t place_of_holder() const { return place_; }

    // The file that all scribes write to.
    const std::string& log() const { return log_; }

private:
    std::unique_ptr<node> start_node();
    // False when the holder has lost its lease meanwhile.
    bool let_holder_write();
    void allow_one_more_loss();
    // Until the command of this node writes, or that of another in its place, where the machine has
    // kept it from beginning within its lease.
    void wait_for_successor(std::unique_ptr<node>& next);
    int pass_on_to(std::unique_ptr<node> next);
    std::size_t lines_of_newest() const;
    fence_token newest_token() const;

    scratch_folder folder_{scratch_folder::storage::memory};
    const std::string log_;
    const std::vector<place> places_;
    std::size_t started_ = 0;
    std::unique_ptr<node> holder_;
    // The holder's.
    fence_token token_{};
    std::size_t place_ = 0;
    std::size_t lost_unhurt_ = 0;
    int losses_ = 0;  // those, and the leases that ended before their command began
};

// Runs the pawl command to its end, with these words after its name.
struct outcome {
    int status = -1;
    std::string output;  // standard output and error
};
outcome run_pawl(const std::vector<std::string>& words);

// What `pawl exec` exits with when it had to stop its command.
constexpr int lease_lost = 70;

// As a gtest expectation, right after the store has been taken away: waits until the token writer
// that wrote last is dead, which must be before the lease has ended that it can have got by then.
void expect_command_ends_in_time(const takeover_scenario& nodes);

// As gtest expectations: the commands wrote one after another, and this many of them wrote beside
// those that were lost unhurt.
void expect_one_at_a_time(const takeover_scenario& nodes, std::size_t holders);

}  // namespace pawl::crash
