// A simulated world: the machines with their clocks, the servers of the store and of the journal,
// the network between them, and what is happening to all of it.
//
// Nothing here decides anything that the product decides. The nodes are the product's own engines
// and dispatchers, each on a loop whose time the world turns; the servers are the engine `memory:`
// over the rules that all engines share.
#pragma once

#include "engines/memory/journal/journal_data.hpp"
#include "engines/memory/store/data_set.hpp"
#include "net/loop.hpp"
#include "test_support/simulation/schedule/plan.hpp"
#include "test_support/simulation/schedule/referee.hpp"
#include "test_support/simulation/timeline.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {

class node;

enum class side { store, journal };

// A server: it serves one request at a time, at the instant at which it arrives.
class server final : public net::simulated_node {
public:
    explicit server(const world_plan& plan, const timeline& time, std::uint64_t seed)
        : plan_{plan}, time_{time}, seed_{seed} {}

    instant now() const override { return instant{time_.now() + std::chrono::hours{1}}; }
    time::wall_instant wall() const override {
        return plan_.start + std::chrono::floor<std::chrono::microseconds>(time_.now());
    }
    std::uint64_t random() override { return ++seed_; }

private:
    const world_plan& plan_;
    const timeline& time_;
    std::uint64_t seed_;
};

class world {
public:
    world(std::uint64_t seed, plant bug);
    // One that is told what it is to be like.
    world(std::uint64_t seed, const world_plan& given);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void run_until(nanos end);
    // A node has something to do, or its next event is another one.
    void touch(std::size_t node) { touched_.insert(node); }
    // For run_world_until().
    void settle();
    nanos next_event() const;
    void fire(nanos at);

    // What may happen to it.
    void take_down(side which, nanos how_long);
    bool is_up(side which) const { return which == side::store ? store_up_ : journal_up_; }
    void pause_job(std::size_t job, nanos how_long);
    // The store comes back with nothing in it, where its plan has a quarantine for that.
    void lose_data(nanos how_long);
    // All nodes are given the next edition of the job, one after the other.
    void reload_job(std::size_t job);
    // Somebody asks for a run, or wants one that goes on to end.
    void trigger_job(std::size_t job);
    void cancel_run();

    // Strikes the node that is granted a key next, about when it hears of that.
    void at_next_grant(std::function<void(node&)> strike) { at_next_grant_ = std::move(strike); }
    void on_granted(node& winner);

    // Tells the referee since when the edition that there is now has been known, if it is.
    void note_published(std::size_t job);
    // The edition of the job that a node finds when it starts.
    std::size_t edition_of(std::size_t job) const { return editions_[job]; }

    // What the registry tells this node of the others.
    std::vector<node_entry> registry_told(const std::string& owner);

    // What has been asked of each server, and how late occurrences have begun.
    struct load_count {
        std::array<std::uint64_t, 2> requests{};
        std::vector<nanos> late;
    };
    void count_request(side which) { ++counted.requests[static_cast<std::size_t>(which)]; }
    void count_begin(pawl::occurrence occurrence);

    // The data of the servers, as somebody beside them sees it.
    memory::data_set& leases() { return *leases_; }
    std::optional<run_record> row_of(const std::string& job, std::uint32_t partition,
                                     pawl::occurrence occurrence) {
        return *serve(records->find_occurrence(job, partition, occurrence));
    }

    // Serves one request to its end.
    template <class T>
    result<T> serve(async<T> work) {
        std::optional<result<T>> answer;
        boost::asio::co_spawn(loop_.get_executor(), std::move(work),
                              [&answer](const std::exception_ptr& raised, result<T> got) {
                                  if (raised) std::rethrow_exception(raised);
                                  answer.emplace(std::move(got));
                              });
        while (!answer && loop_.turn() > 0) {
        }
        return std::move(*answer);
    }
    // The same for one that goes on until something happens: `then` is called with its end.
    template <class Then>
    void serve_long(async<void> work, Then then) {
        boost::asio::co_spawn(loop_.get_executor(), std::move(work),
                              [then](const std::exception_ptr&, const result<void>&) { then(); });
        turn_server();
    }
    void turn_server() {
        while (loop_.turn() > 0) {
        }
    }

    rng random;
    world_plan plan;
    timeline time;
    referee judge;
    bool faulty = true;
    load_count counted;
    std::vector<std::unique_ptr<node>> nodes;
    std::shared_ptr<lease_store> store;
    std::shared_ptr<journal> records;

private:
    void report_health();
    void make_store();
    std::string fresh_id();

    server server_;
    net::loop loop_;
    std::shared_ptr<memory::data_set> leases_;
    std::vector<std::shared_ptr<lease_store>> lost_;  // with whoever waits at them
    std::function<void(node&)> at_next_grant_;
    std::set<std::size_t> touched_;     // nodes
    std::vector<nanos> next_of_nodes_;  // by index; never, where it has not been touched
    bool store_up_ = true;
    bool journal_up_ = true;
    std::vector<bool> paused_;
    std::vector<std::size_t> editions_;
    // What the registry has told, and when.
    std::vector<std::pair<nanos, std::vector<node_entry>>> registries_;
};

}  // namespace pawl::simulation::schedules
