// Acquire, release and renew on ZooKeeper, beside the bare C client with the same znodes.
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/zookeeper/store/zookeeper_store.hpp"
#include "test_support/servers/zookeeper_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

// As long as what pawl writes.
const std::string granted_text =
    "1 lease-0123456789abcdef = = 0 = - 0123456789abcdef0123456789abcdef host:1:1:bare";
const std::string released_text =
    "1 - 1795184283285672 1795184283285 0 1795184283285672 - - host:1:1:bare";

void expect(int code) {
    if (code != ZOK) throw std::runtime_error{zerror(code)};
}

// What pawl does to the tree, through the C client alone.
class bare_zookeeper {
public:
    explicit bare_zookeeper(std::uint16_t port) {
        const auto hosts = "127.0.0.1:" + std::to_string(port);
        handle_ = zookeeper_init2(
            hosts.c_str(),
            [](zhandle_t*, int, int state, const char*, void* me) {
                if (state == ZOO_CONNECTED_STATE)
                    static_cast<bare_zookeeper*>(me)->connected_.set_value();
            },
            40'000, nullptr, this, ZOO_NO_LOG_CLIENTENV, [](const char*) {});
        if (handle_ == nullptr) throw std::runtime_error{"the bare client cannot start"};
        zoo_set_servers_resolution_delay(handle_, -1);
        connected_.get_future().get();
    }
    ~bare_zookeeper() { zookeeper_close(handle_); }
    bare_zookeeper(const bare_zookeeper&) = delete;
    bare_zookeeper& operator=(const bare_zookeeper&) = delete;

    void create(const std::string& path) {
        expect(zoo_create(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0));
    }
    std::vector<std::string> children(const std::string& path) {
        String_vector names{};
        expect(zoo_get_children(handle_, path.c_str(), 0, &names));
        std::vector<std::string> found{names.data, names.data + names.count};
        deallocate_String_vector(&names);
        return found;
    }

    // One key and its two transactions.
    struct key {
        key(std::string record)
            : record{std::move(record)}, lease{this->record + "/lease-0123456789abcdef"} {}

        void write_acquire() {
            zoo_set_op_init(&steps[0], record.c_str(), granted_text.data(),
                            static_cast<int>(granted_text.size()), version, &stat);
            zoo_create_op_init(&steps[1], lease.c_str(), "30000", 5, &ZOO_OPEN_ACL_UNSAFE,
                               ZOO_EPHEMERAL, nullptr, 0);
        }
        void write_release() {
            zoo_set_op_init(&steps[0], record.c_str(), released_text.data(),
                            static_cast<int>(released_text.size()), version, &stat);
            zoo_delete_op_init(&steps[1], lease.c_str(), -1);
        }

        std::string record, lease;
        int version = 0;
        Stat stat{};
        std::array<zoo_op_t, 2> steps{};
        std::array<zoo_op_result_t, 2> results{};
    };

    void pair(key& on) {
        on.write_acquire();
        expect(zoo_multi(handle_, 2, on.steps.data(), on.results.data()));
        on.version = on.stat.version;
        on.write_release();
        expect(zoo_multi(handle_, 2, on.steps.data(), on.results.data()));
        on.version = on.stat.version;
    }

    // As many chains of pairs at once as there are keys; pairs a second.
    double rate(std::vector<std::unique_ptr<key>>& keys, int pairs_each) {
        std::vector<chain> chains;
        for (auto& one : keys) chains.emplace_back(*this, *one, pairs_each * 2);
        running_ = chains.size();
        const auto micros = micros_of([&] {
            for (auto& one : chains) one.send();
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [&] { return running_ == 0; });
        });
        return static_cast<double>(keys.size()) * pairs_each / micros * 1e6;
    }

    // One renewal of all: transactions of 256, all in flight at once.
    void renew(const std::vector<std::string>& leases) {
        constexpr std::size_t batch = 256;
        std::vector<zoo_op_t> steps(leases.size());
        std::vector<zoo_op_result_t> results(leases.size());
        std::vector<Stat> stats(leases.size());
        for (std::size_t i = 0; i < leases.size(); ++i)
            zoo_set_op_init(&steps[i], leases[i].c_str(), "30000", 5, -1, &stats[i]);
        running_ = (leases.size() + batch - 1) / batch;
        for (std::size_t i = 0; i < leases.size(); i += batch)
            expect(zoo_amulti(
                handle_, static_cast<int>(std::min(batch, leases.size() - i)), &steps[i],
                &results[i],
                [](int code, const void* data) {
                    if (code != ZOK) std::abort();
                    auto* home =
                        const_cast<bare_zookeeper*>(static_cast<const bare_zookeeper*>(data));
                    const std::lock_guard lock{home->mutex_};
                    if (--home->running_ == 0) home->changed_.notify_all();
                },
                this));
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return running_ == 0; });
    }

private:
    // Acquires and releases in turn, each when the one before has been answered.
    struct chain {
        chain(bare_zookeeper& home, key& on, int left) : home{&home}, on{&on}, left{left} {}

        void send() {
            if (left % 2 == 0)
                on->write_acquire();
            else
                on->write_release();
            expect(zoo_amulti(home->handle_, 2, on->steps.data(), on->results.data(), &answered,
                              this));
        }
        static void answered(int code, const void* data) {
            auto* me = const_cast<chain*>(static_cast<const chain*>(data));
            if (code != ZOK) std::abort();
            me->on->version = me->on->stat.version;
            if (--me->left > 0) return me->send();
            const std::lock_guard lock{me->home->mutex_};
            if (--me->home->running_ == 0) me->home->changed_.notify_all();
        }

        bare_zookeeper* home;
        key* on;
        int left;
    };

    zhandle_t* handle_ = nullptr;
    std::promise<void> connected_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t running_ = 0;  // under mutex_
};

std::string rate_text(double value) {
    return std::to_string(static_cast<long>(value)) + " pairs/s";
}

void one_caller(bare_zookeeper& bare, locks& store) {
    bare.create("/bare/locks/1A/one%2Fbare");
    bare_zookeeper::key key{"/bare/locks/1A/one%2Fbare"};
    compare_one_caller(
        store, 2000,
        "ZooKeeper, acquire + release, one caller that blocks; bare: the same transactions through "
        "the C client",
        [&] { bare.pair(key); });
    compare_one_coroutine(store, 20, 100, [&] { bare.pair(key); });
}

void many_callers(bare_zookeeper& bare, locks& store) {
    constexpr int callers = 64, pairs_each = 40;
    std::vector<std::unique_ptr<bare_zookeeper::key>> keys;
    for (int i = 0; i < callers; ++i) {
        const auto path = "/bare/locks/1A/many%2Fbare%2F" + std::to_string(i);
        bare.create(path);
        keys.push_back(std::make_unique<bare_zookeeper::key>(path));
    }
    std::vector<double> bare_rates, our_rates;
    for (int round = 0; round < 7; ++round) {
        bare_rates.push_back(bare.rate(keys, pairs_each));
        our_rates.push_back(pairs_per_second(store, callers, pairs_each));
    }
    const double bare_rate = median(std::move(bare_rates)), rate = median(std::move(our_rates));
    print_row(
        "ZooKeeper, 64 concurrent callers; bare: 64 transactions in flight through the C client",
        rate_text(bare_rate), rate_text(rate), rate / bare_rate, "≥ 0.8", rate / bare_rate >= 0.8);
}

boost::asio::awaitable<bool> take(lease_store& store, int from, int to, std::vector<held>& into) {
    for (int i = from; i < to; ++i) {
        claim wanted{"renewed/" + std::to_string(i), "id-" + std::to_string(i), "bench",
                     millis{30'000}};
        auto asking = store.acquire(std::move(wanted));
        const auto got = co_await std::move(asking);
        const auto& won = std::get<grant>(got.value());
        held lease;
        lease.key = won.key;
        lease.token = won.token;
        lease.ttl = won.ttl;
        into[static_cast<std::size_t>(i)] = lease;
    }
    co_return true;
}

// Ten thousand leases of this process, as the renewer renews them: 256 a transaction.
void many_leases(bare_zookeeper& bare, std::uint16_t port) {
    constexpr int leases = 10'000, at_once = 100;
    net::loop where;
    zookeeper::zookeeper_settings settings;
    settings.servers.front().port = port;
    settings.common.name_space = "renewals";
    settings.common.timeout = millis{10'000};
    const auto store = zookeeper::make_zookeeper_store(where, settings);
    std::vector<held> ours(leases);
    std::vector<std::future<bool>> taking;
    for (int i = 0; i < at_once; ++i)
        taking.push_back(boost::asio::co_spawn(
            where.get_executor(),
            take(*store, leases / at_once * i, leases / at_once * (i + 1), ours),
            boost::asio::use_future));
    for (auto& one : taking) one.get();
    // The very same znodes: a session may set what another one made.
    std::vector<std::string> theirs;
    const std::string root = "/renewals/locks";
    for (const auto& bucket : bare.children(root))
        for (const auto& record : bare.children(root + "/" + bucket)) {
            const auto path = root + "/" + bucket + "/" + record;
            for (const auto& lease : bare.children(path)) theirs.push_back(path + "/" + lease);
        }
    if (theirs.size() != leases) throw std::runtime_error{"the leases are not all there"};
    const auto cost = compare(
        9, [&] { bare.renew(theirs); },
        [&] {
            const auto answers = where.wait_for(store->renew(ours));
            for (const auto one : answers.value())
                if (one != renewal::renewed) throw std::runtime_error{"a lease was lost"};
        });
    print_row("ZooKeeper, renewal of 10,000 leases, 256 a transaction; bare: the same sets",
              micros_text(cost.bare), micros_text(cost.ours), cost.ours / cost.bare, "≤ 1.25",
              cost.ours / cost.bare <= 1.25);
    for (const auto& lease : ours)
        static_cast<void>(where.wait_for(store->release(lease.key, lease.token, {})));
}

void benchmark_zookeeper() {
    testing_servers::zookeeper_options usual;
    usual.tick = std::chrono::milliseconds{2000};
    usual.session_min = std::chrono::milliseconds{4000};
    usual.session_max = std::chrono::milliseconds{40'000};
    testing_servers::zookeeper_server server{usual};
    bare_zookeeper bare{server.port()};
    for (const auto* path : {"/bare", "/bare/locks", "/bare/locks/1A"}) bare.create(path);
    auto store = locks::open("zookeeper://127.0.0.1:" + std::to_string(server.port()));
    // The server compiles what it runs often.
    static_cast<void>(pairs_per_second(store, 64, 60));
    one_caller(bare, store);
    many_callers(bare, store);
    many_leases(bare, server.port());
}

const benchmark registered{70, "zookeeper", benchmark_zookeeper};

}  // namespace
}  // namespace pawl::benchmarks
