// pawl among its peers: benchmarks/peers/run starts it and asks what requests.hpp says.
//
//     pawl_peer URL             answers for the store
#include "benchmarks/pairs.hpp"
#include "benchmarks/peers/requests.hpp"

#include <pawl/clock.hpp>
#include <pawl/locks.hpp>

#include <future>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

namespace pawl::benchmarks {
namespace {

class pawl_participant : public participant {
public:
    explicit pawl_participant(const std::string& url)
        : one_{locks::open(url)}, other_{locks::open(url)} {}

    void pair(const std::string& key) override { must_have(key).release(); }

    nanos crowd(const std::string& key, int callers, int each) override {
        const double pairs = static_cast<double>(callers) * each;
        const double rate = pairs_per_second(one_, callers, each, key + "/");
        return nanos{static_cast<nanos::rep>(pairs / rate * 1e9)};
    }

    nanos hand_over(const std::string& key, std::chrono::milliseconds hold) override {
        auto held = must_have(key);
        auto waiter = std::async(std::launch::async, [this, &key] {
            auto won = other_.acquire(key, half_a_minute, millis{60'000});
            const auto at = lease_clock::now();
            if (!won) throw std::runtime_error{"the waiter got nothing"};
            won->release();
            return at;
        });
        std::this_thread::sleep_for(hold);
        const auto begun = lease_clock::now();
        held.release();
        return waiter.get() - begun;
    }

private:
    lease must_have(const std::string& key) {
        auto held = one_.try_acquire(key, half_a_minute);
        if (!held) throw std::runtime_error{"'" + key + "' is busy"};
        return std::move(*held);
    }

    locks one_, other_;  // a connection each
};

}  // namespace
}  // namespace pawl::benchmarks

int main(int count, char** words) {
    using namespace pawl::benchmarks;
    if (count != 2) {
        std::cerr << "usage: pawl_peer URL\n";
        return 64;
    }
    return serve([&] { return std::make_unique<pawl_participant>(words[1]); });
}
