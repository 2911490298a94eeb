// Contention for real: many threads of several processes on one key, with a shared page of memory
// as the witness.
#pragma once

#include "test_support/conformance/client.hpp"

#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace pawl::conformance {

using address_opener = std::shared_ptr<lease_store> (*)(net::loop&, const std::string& address,
                                                        store_settings settings);
// Makes an engine known to the children of this binary by its name.
bool register_opener(const std::string& engine, address_opener open);

enum class contention {
    by_release,  // holders work under a long lease and release it
    by_expiry    // holders never release: the next one is let in by the end of the lease alone
};

// What the contenders are to do; their processes get it on the command line.
struct contention_plan {
    std::string engine;
    std::string address;
    std::string name_space;
    std::string key;
    contention how = contention::by_release;
    std::uint64_t grants_wanted = 0;
};

// One grant of a lease that nobody releases, on the lease clock of the machine.
struct turn {
    std::uint64_t token;
    std::int64_t sent;      // when the request left: trust in the lease is counted from here
    std::int64_t received;  // when the answer had come: the grant was made before
};

// What the contenders have seen, in memory that all of them share. All fields are lock-free.
struct witness {
    static constexpr std::size_t turns_max = 256;

    std::atomic<std::uint32_t> inside;  // holders that are at work
    std::atomic<std::uint64_t> newest;  // the highest token seen so far
    std::atomic<std::uint64_t> grants;
    std::atomic<std::uint64_t> overlaps;
    std::atomic<std::uint64_t> tokens_fallen;
    std::atomic<std::uint64_t> failures;  // of the store
    // Of leases that expire: each holder writes its own, and they are judged at the end, because a
    // holder that was held up would testify too late.
    std::array<turn, turns_max> turns;
    std::atomic<std::uint64_t> turns_taken;
};

// A witness in a file that is removed with it.
class shared_witness {
public:
    shared_witness();
    explicit shared_witness(const std::filesystem::path& existing);
    ~shared_witness();
    shared_witness(const shared_witness&) = delete;
    shared_witness& operator=(const shared_witness&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }
    witness& operator*() const noexcept { return *page_; }
    witness* operator->() const noexcept { return page_; }

private:
    std::filesystem::path path_;
    bool mine_;
    witness* page_ = nullptr;
};

// Eight threads of this process contend until the grants wanted have been made.
void contend_here(client& through, const contention_plan& what, witness& seen);
// The same in other processes. Returns how many of them ended badly.
int contend_in_children(int processes, const contention_plan& what, const shared_witness& seen);

// The TTL of leases that nobody releases: as short as this store can.
millis expiring_ttl(const client& through);
// How many turns began, in the order of their tokens, while the one before could trust its lease.
std::uint64_t overlapping_turns(const witness& seen, millis ttl);

// The main program of a contender: none if the arguments are not for one, else its exit status.
std::optional<int> contender_main(const std::vector<std::string>& arguments);

}  // namespace pawl::conformance
