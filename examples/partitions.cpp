// Partitions: work that is cut in eight and spread over the live members. A second node joins and
// is given half of it; the first one leaves and the second has everything.
#include <pawl/pawl.hpp>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t parts = 8;

// Who works on what, for this program to look at.
class scoreboard {
public:
    void write(std::uint32_t part, const std::string& node) {
        const std::lock_guard lock{mutex_};
        if (!names_[part].empty()) twice_ = true;
        names_[part] = node;
        changed_.notify_all();
    }
    void wipe(std::uint32_t part) {
        const std::lock_guard lock{mutex_};
        names_[part].clear();
        changed_.notify_all();
    }
    void wait_until_everybody_has(std::size_t share, std::size_t nodes) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] {
            std::map<std::string, std::size_t> shares;
            for (const auto& [part, node] : names_)
                if (!node.empty()) ++shares[node];
            if (shares.size() != nodes) return false;
            for (const auto& [node, held] : shares)
                if (held != share) return false;
            return true;
        });
        for (const auto& [part, node] : names_) std::cout << part << " on " << node << "  ";
        std::cout << '\n';
    }
    bool twice() const { return twice_; }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint32_t, std::string> names_;
    bool twice_ = false;
};

// Works on this partition until another member is to.
void reindex(scoreboard& seen, const std::string& node, const pawl::partition& mine) {
    seen.write(mine.index, node);
    std::mutex mutex;
    std::condition_variable_any told;
    std::unique_lock lock{mutex};
    told.wait(lock, mine.stop, [] { return false; });
    seen.wipe(mine.index);
}

}  // namespace

int main() {
    scoreboard seen;
    // Quick looks, as this is an example.
    const pawl::partition_options options{.interval = 20ms};
    const auto node = [&](std::string name, std::stop_token stop) {
        auto locks = pawl::locks::open("memory:");
        locks.run_partitions(
            "reindex", parts, stop, [&](const pawl::partition& mine) { reindex(seen, name, mine); },
            options);
    };
    std::jthread first{[&](std::stop_token stop) { node("a", stop); }};
    seen.wait_until_everybody_has(8, 1);
    std::jthread second{[&](std::stop_token stop) { node("b", stop); }};
    seen.wait_until_everybody_has(4, 2);
    first.request_stop();
    seen.wait_until_everybody_has(8, 1);
    second.request_stop();
    first.join();
    second.join();
    return seen.twice() ? 1 : 0;
}
