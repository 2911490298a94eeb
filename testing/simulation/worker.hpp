// What a node does about one key, over and over: claim it, run a job under it, end the lease.
#pragma once

#include "testing/simulation/node.hpp"

namespace pawl::simulation {

class worker {
public:
    worker(node& home, const key_plan& plan);

    // One attempt, and then the next for as long as the process lives.
    void rest();

    bool trusts() const;
    // Asks for the key although the time that it was willing to wait is long over.
    bool stuck() const;
    // The lease that the process believes to have, if it has one.
    struct lease {
        fence_token token;
        leasing::heartbeat beat;
        std::optional<occurrence> firing;
        std::uint64_t serial;
        bool hangs;
    };
    const std::optional<lease>& holding() const { return lease_; }
    const std::string& key() const { return plan_.key; }

private:
    void begin();
    std::optional<occurrence> choose_firing();
    leasing::claim_plan draw_claim_plan();
    leasing::rhythm rhythm() const;

    void drive_claim();
    void send_claim();
    void listen(instant until);
    void wake_at(instant until);
    void withdraw(const withdrawal& given_up, instant until);
    void replace_id();
    void name_claim();
    void conclude();

    void hold(const leasing::granted& won);
    void drive_lease();
    void renew();
    void renewed(std::uint64_t serial, instant sent, renewal answer);
    void revive(std::uint64_t serial, instant sent, renewal answer);
    void work();
    void write_on();
    void finish();
    void lose();
    void release(const farewell& how, int attempts);

    // Constant after construction
    node& home_;
    world& world_;
    const key_plan& plan_;
    // State
    std::optional<leasing::claiming> claim_;
    nanos patient_until_{0};
    std::string id_;
    std::optional<occurrence> firing_;
    std::optional<lease> lease_;
    std::optional<lease> lost_;  // for the bug that revives it
    std::uint64_t serial_ = 0;   // of leases
    std::uint64_t wait_ = 0;     // of pauses of the claim
    std::uint64_t drive_ = 0;    // of timers of the lease
};

}  // namespace pawl::simulation
