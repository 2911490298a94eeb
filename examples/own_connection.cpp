// pawl over the application's own pool of libpq: own_connection CONNINFO. pawl logs in nowhere.
#include <pawl/pawl.hpp>

#include <libpq-fe.h>

#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

// The application's. It outlives every connection that it gives.
class pool {
public:
    explicit pool(std::string conninfo) : conninfo_{std::move(conninfo)} {}
    ~pool() {
        for (auto* one : idle_) PQfinish(one);
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    std::shared_ptr<PGconn> take() {
        auto* one = first_idle();
        if (one == nullptr) one = PQconnectdb(conninfo_.c_str());
        if (PQstatus(one) != CONNECTION_OK) {
            const std::string why = PQerrorMessage(one);
            PQfinish(one);
            throw std::runtime_error{why};
        }
        return {one, [this](PGconn* back) { give_back(back); }};
    }
    std::size_t idle() const {
        const std::lock_guard guard{mutex_};
        return idle_.size();
    }

private:
    PGconn* first_idle() {
        const std::lock_guard guard{mutex_};
        if (idle_.empty()) return nullptr;
        auto* one = idle_.back();
        idle_.pop_back();
        return one;
    }
    // Idle, and as it was given; or at its end.
    void give_back(PGconn* one) {
        if (PQstatus(one) != CONNECTION_OK) return PQfinish(one);
        const std::lock_guard guard{mutex_};
        idle_.push_back(one);
    }

    const std::string conninfo_;
    mutable std::mutex mutex_;
    std::vector<PGconn*> idle_;
};

int main(int count, char** arguments) {
    if (count != 2) return 64;
    pool connections{std::string{arguments[1]} + " connect_timeout=10"};
    {
        auto locks =
            pawl::locks::open("postgresql:?schema=jobs&timeout=20s",
                              {.connections = {.postgresql = [&] { return connections.take(); }}});
        auto lease = locks.try_acquire("invoices/nightly", {.ttl = 30s});
        if (!lease) return 1;
        std::cout << "token " << number(lease->token()) << '\n';
        lease->release();
    }
    // The end of `locks` has given back what it had.
    std::cout << connections.idle() << " in the pool\n";
    return connections.idle() > 0 ? 0 : 1;
}
