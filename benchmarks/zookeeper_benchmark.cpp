// Acquire, release and renew on ZooKeeper, beside the bare C client with the same znodes.
#include "benchmarks/bare_zookeeper.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/zookeeper/store/make_zookeeper_store.hpp"
#include "test_support/servers/zookeeper_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <dlfcn.h>

#include <filesystem>
#include <future>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

using opener = bare_zookeeper*(std::uint16_t);

std::string rate_text(double value) {
    return std::to_string(static_cast<long>(value)) + " pairs/s";
}

void one_caller(bare_zookeeper& bare, locks& store) {
    const std::string record = "/bare/locks/1A/one%2Fbare";
    bare.create(record);
    compare_one_caller(
        store, 2000,
        "ZooKeeper, acquire + release, one caller that blocks; bare: the same transactions through "
        "the C client",
        [&] { bare.pair(record); });
    compare_one_coroutine(store, 20, 100, [&] { bare.pair(record); });
}

void many_callers(bare_zookeeper& bare, locks& store) {
    constexpr int callers = 64, pairs_each = 40;
    std::vector<std::string> records;
    for (int i = 0; i < callers; ++i) {
        records.push_back("/bare/locks/1A/many%2Fbare%2F" + std::to_string(i));
        bare.create(records.back());
    }
    std::vector<double> bare_rates, our_rates;
    for (int round = 0; round < 7; ++round) {
        bare_rates.push_back(bare.rate(records, pairs_each));
        our_rates.push_back(pairs_per_second(store, callers, pairs_each));
    }
    const double bare_rate = median(std::move(bare_rates)), rate = median(std::move(our_rates));
    print_row(
        "ZooKeeper, 64 concurrent callers; bare: 64 transactions in flight through the C client",
        rate_text(bare_rate), rate_text(rate), rate / bare_rate, "≥ 0.8", rate / bare_rate >= 0.8);
}

boost::asio::awaitable<bool> take(lease_store& store, int from, int to,
                                  std::vector<held_lease>& into) {
    for (int i = from; i < to; ++i) {
        claim wanted{"renewed/" + std::to_string(i), "id-" + std::to_string(i), "bench",
                     millis{30'000}};
        auto asking = store.acquire(std::move(wanted));
        const auto got = co_await std::move(asking);
        const auto& won = std::get<grant>(got.value());
        held_lease lease;
        lease.key = won.key;
        lease.token = won.token;
        lease.ttl = won.ttl;
        into[static_cast<std::size_t>(i)] = lease;
    }
    co_return true;
}

// Ten thousand leases of this process, as the renewer renews them.
void many_leases(bare_zookeeper& bare, std::uint16_t port) {
    constexpr int leases = 10'000, at_once = 100;
    net::loop where;
    zookeeper::zookeeper_settings settings;
    settings.servers.front().port = port;
    settings.common.name_space = "renewals";
    settings.common.timeout = millis{10'000};
    const auto store = zookeeper::make_zookeeper_store(where, settings);
    std::vector<held_lease> ours(leases);
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
            for (const auto& child : bare.children(path))
                if (child.starts_with("lease-")) theirs.push_back(path + "/" + child);
        }
    if (theirs.size() != leases) throw std::runtime_error{"the leases are not all there"};
    const auto cost = compare(
        9, [&] { bare.renew(theirs); },
        [&] {
            const auto answers = where.wait_for(store->renew(ours));
            for (const auto one : answers.value())
                if (one != renewal::renewed) throw std::runtime_error{"a lease was lost"};
        });
    print_row("ZooKeeper, renewal of 10,000 leases; bare: the same sets, 256 a transaction",
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
    const auto client = connect_bare_zookeeper(server.port());
    auto& bare = *client;
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

// Its own names come before the program's, which are those of the variant without threads.
std::unique_ptr<bare_zookeeper> connect_bare_zookeeper(std::uint16_t port) {
    const auto file =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / PAWL_BARE_ZOOKEEPER;
    void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (module == nullptr) throw std::runtime_error{dlerror()};
    auto* const open = reinterpret_cast<opener*>(dlsym(module, "pawl_bare_zookeeper"));
    if (open == nullptr) throw std::runtime_error{dlerror()};
    return std::unique_ptr<bare_zookeeper>{open(port)};
}

}  // namespace pawl::benchmarks
