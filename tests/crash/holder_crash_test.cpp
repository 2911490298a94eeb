// Holders that die or freeze, on one embedded store.
#include "tests/crash/takeover_scenario.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace pawl::crash {
namespace {

struct embedded {
    scratch_folder folder{scratch_folder::storage::memory};
    std::string path = folder.file("pawl.db");
    // A waiter is turned away when the file stays locked for longer, as by a test that stands
    // still.
    std::string url = "sqlite:" + path + "?timeout=20s";
};

std::vector<pid_t> children_of(pid_t pid) {
    const std::string name = std::to_string(pid);
    std::vector<pid_t> children;
    // Threads have children of their own, but only the first thread forks here.
    std::istringstream text{text_of("/proc/" + name + "/task/" + name + "/children")};
    for (pid_t child = 0; text >> child;) children.push_back(child);
    return children;
}

// `levels` 0: pawl itself. 1: the launcher too. 2: and the guard. 3: and the command.
void signal_tree(pid_t pid, int number, int levels) {
    const auto children = children_of(pid);
    kill(pid, number);
    if (levels == 0) return;
    for (const pid_t child : children) signal_tree(child, number, levels - 1);
}

// Stops it, but not in the middle of a write: a file that stays locked is a store that is gone,
// which turns waiters away. They wait for far longer than the first probe.
void freeze(const embedded& store, pid_t whom) {
    const auto probe = [&](const char* timeout) {
        return run_pawl(
            {"--store", "sqlite:" + store.path + "?timeout=" + timeout, "exec", "probe", "true"});
    };
    constexpr int attempts_max = 50;
    for (int i = 0; i < attempts_max; ++i) {
        kill(whom, SIGSTOP);
        if (probe("1s").status == 0) return;
        kill(whom, SIGCONT);
        // It ends what it was at, or the next stop would find it there again.
        const auto written = probe("20s");
        ASSERT_EQ(written.status, 0) << written.output;
    }
    FAIL() << "each stop found it in the middle of a write";
}

// SIGKILL at several phases of the heartbeat: the guard ends the command before the lease does.
TEST(HolderCrash, KilledItsCommandIsDeadBeforeTheNextBegins) {
    const embedded store;
    takeover_scenario nodes{{place{store.url}}};
    for (int round = 0; round < 6; ++round) {
        EXPECT_EQ(nodes.take_over([](node& holder) { holder.signal(SIGKILL); }), 128 + SIGKILL);
    }
    expect_one_at_a_time(nodes, 7);
}

// SIGSTOP past the TTL, then SIGCONT: the holder finds its lease lost, and says 70.
TEST(HolderCrash, FrozenItsCommandIsDeadBeforeTheNextBegins) {
    const embedded store;
    takeover_scenario nodes{{place{store.url}}};
    for (int round = 0; round < 6; ++round) {
        const int status = nodes.take_over([&](node& holder) { freeze(store, holder.pid()); },
                                           [](node& holder) { holder.signal(SIGCONT); });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 7);
}

// The whole process group frozen, as by ^Z in a shell that knows nothing of guards.
TEST(HolderCrash, FrozenWithItsGroupItsCommandIsDeadBeforeTheNextBegins) {
    const embedded store;
    takeover_scenario nodes{{place{store.url}}};
    for (int round = 0; round < 4; ++round) {
        const int status = nodes.take_over([&](node& holder) { freeze(store, -holder.pid()); },
                                           [](node& holder) { kill(-holder.pid(), SIGCONT); });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 5);
}

// pawl and the launcher killed together: the guard is on its own.
TEST(HolderCrash, KilledWithTheLauncherTheGuardStillEndsTheCommand) {
    const embedded store;
    takeover_scenario nodes{{place{store.url}}};
    for (int round = 0; round < 4; ++round) {
        const int status =
            nodes.take_over([](node& holder) { signal_tree(holder.pid(), SIGKILL, 1); });
        EXPECT_EQ(status, 128 + SIGKILL);
    }
    expect_one_at_a_time(nodes, 5);
}

// The guard killed: pawl lives, reports that the command was killed, and frees the key at once.
TEST(HolderCrash, AKilledGuardTakesTheCommandWithIt) {
    const embedded store;
    takeover_scenario nodes{{place{store.url}}};
    for (int round = 0; round < 4; ++round) {
        const int status = nodes.take_over([](node& holder) {
            for (const pid_t launcher : children_of(holder.pid())) {
                for (const pid_t guard : children_of(launcher)) kill(guard, SIGKILL);
            }
        });
        EXPECT_EQ(status, 128 + SIGKILL);
    }
    expect_one_at_a_time(nodes, 5);
}

// The guarantee has its limits, and the witnesses must see when it is broken: with the guard frozen
// as well, nobody ends the command, and the next one begins beside it.
TEST(HolderCrash, FrozenWithItsGuardTheOverlapIsSeen) {
    const embedded store;
    takeover_scenario nodes{{place{store.url}}};
    const auto wake_when_seen = [&](node& holder) {
        EXPECT_TRUE(eventually([&] { return nodes.seen().stale_lines > 0; }));
        signal_tree(holder.pid(), SIGCONT, 2);
    };
    const int status = nodes.take_over([](node& holder) { signal_tree(holder.pid(), SIGSTOP, 2); },
                                       wake_when_seen);
    EXPECT_EQ(status, lease_lost);
    EXPECT_EQ(nodes.seen().overlaps, 1u);
}

// The database file as other users of it see it, for locking it.
class locked_database {
public:
    explicit locked_database(const std::string& path) {
        if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) throw std::runtime_error{path};
        sqlite3_busy_timeout(database_, 10'000);
        if (sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK) {
            throw std::runtime_error{sqlite3_errmsg(database_)};
        }
    }
    ~locked_database() { sqlite3_close(database_); }
    locked_database(const locked_database&) = delete;
    locked_database& operator=(const locked_database&) = delete;

private:
    sqlite3* database_ = nullptr;
};

// Nobody can renew while somebody else locks the file: the command ends in time without any answer
// from the store, and the next begins when the file is free again.
TEST(HolderCrash, WithItsStoreLockedItsCommandEndsWithTheLease) {
    const embedded store;
    takeover_scenario nodes{{place{store.url}}};
    for (int round = 0; round < 4; ++round) {
        const int status = nodes.take_over([&](node&) {
            const locked_database lock{store.path};
            expect_command_ends_in_time(nodes);
        });
        EXPECT_EQ(status, lease_lost);
    }
    expect_one_at_a_time(nodes, 5);
}

}  // namespace
}  // namespace pawl::crash
