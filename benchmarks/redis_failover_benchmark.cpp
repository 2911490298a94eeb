// Redis Cluster beside bare hiredis that sends to the right node, and what wait=1 costs.
#include "benchmarks/bare_redis.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/redis/client/slots.hpp"
#include "engines/redis/store/make_redis_store.hpp"
#include "test_support/servers/redis_cluster.hpp"

#include <map>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

const std::string claim_id = "0123456789abcdef0123456789abcdef";
constexpr int renewed_leases = 10'000;

std::string per_second(double value) {
    return std::to_string(static_cast<long>(value)) + " pairs/s";
}

// One connection to each node, and the layout of docs/stores/redis-cluster.md.
class bare_cluster {
public:
    explicit bare_cluster(testing_servers::redis_cluster& cluster) {
        const auto renew = std::string{redis::scripts::all().renew.text};
        for (std::size_t i = 0; i < cluster.size(); ++i) {
            nodes_.push_back(std::make_unique<bare_redis>(cluster.node(i).port()));
            nodes_.back()->ask({"SCRIPT", "LOAD", renew});
        }
        for (std::size_t shard = 0; shard < redis::cluster_shards; ++shard)
            owners_.push_back(cluster.owner_of(redis::shard_slot(shard)));
    }

    bare_redis& owner_of(const std::string& key) {
        return *nodes_[owners_[redis::shard_of_key(key)]];
    }
    static std::string space_of(const std::string& key) {
        return "pawl{" + redis::shard_tag(redis::shard_of_key(key)) + "}";
    }
    static std::vector<std::string> acquire_words(const std::string& key) {
        const auto space = space_of(key);
        return {"EVALSHA",
                redis::scripts::all().acquire.digest,
                "2",
                space + ":lock:" + key,
                space + ":locks",
                claim_id,
                "bench:1:1:bare",
                "30000",
                "604830000"};
    }
    static std::vector<std::string> release_words(const std::string& key, std::int64_t token) {
        return {"EVALSHA", redis::scripts::all().release.digest, "1",
                space_of(key) + ":lock:" + key, std::to_string(token)};
    }
    void pair(const std::string& key) {
        auto& node = owner_of(key);
        const auto won = node.ask(acquire_words(key));
        if (won->type != REDIS_REPLY_INTEGER)
            throw std::runtime_error{"the bare acquire was rejected"};
        node.ask(release_words(key, won->integer));
    }

private:
    std::vector<std::unique_ptr<bare_redis>> nodes_;
    std::vector<std::size_t> owners_;
};

void one_caller(bare_cluster& bare, locks& store) {
    compare_one_caller(
        store, 4000,
        "Redis Cluster of 3, acquire + release, one caller that blocks; bare: the same scripts "
        "through hiredis, sent to the right node",
        [&] { bare.pair("one/bare"); });
    compare_one_coroutine(store, 40, 100, [&] { bare.pair("one/bare"); });
}

// So many keys in flight at once, over one connection to each node.
double bare_rate(bare_cluster& bare, int depth, int rounds) {
    std::vector<std::string> keys;
    for (int i = 0; i < depth; ++i) keys.push_back("many/bare/" + std::to_string(i));
    const auto micros = micros_of([&] {
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::int64_t> tokens;
            for (const auto& key : keys) bare.owner_of(key).send(bare_cluster::acquire_words(key));
            for (const auto& key : keys) tokens.push_back(bare.owner_of(key).receive()->integer);
            for (std::size_t i = 0; i < keys.size(); ++i)
                bare.owner_of(keys[i]).send(bare_cluster::release_words(keys[i], tokens[i]));
            for (const auto& key : keys) bare.owner_of(key).receive();
        }
    });
    return depth * rounds / micros * 1e6;
}

void many_callers(bare_cluster& bare, locks& store) {
    std::vector<double> bare_rates, our_rates;
    for (int round = 0; round < 7; ++round) {
        bare_rates.push_back(bare_rate(bare, 64, 150));
        our_rates.push_back(pairs_per_second(store, 64, 150));
    }
    const double theirs = median(std::move(bare_rates)), ours = median(std::move(our_rates));
    print_row(
        "Redis Cluster of 3, 64 concurrent callers; bare: hiredis, 64 in flight over its three "
        "connections",
        per_second(theirs), per_second(ours), ours / theirs, "≥ 0.8", ours / theirs >= 0.8);
}

// Both sides send one script for each shard, and one write for each node.
void renewals(bare_cluster& bare, const std::string& hosts) {
    net::loop loop;
    redis::redis_settings settings;
    settings.shape = redis::topology::cluster;
    const auto colon = hosts.find(':');
    settings.seeds = {
        {hosts.substr(0, colon), static_cast<std::uint16_t>(std::stoi(hosts.substr(colon + 1)))}};
    auto store = redis::make_redis_store(loop, settings);
    std::vector<held_lease> leases;
    std::map<std::size_t, std::vector<std::string>> words;  // of each shard
    std::map<std::size_t, std::vector<std::string>> arguments;
    for (int i = 0; i < renewed_leases; ++i) {
        const auto key = "renewed/" + std::to_string(i);
        held_lease lease;
        lease.key = key;
        lease.ttl = millis{30'000};
        const auto got = loop.wait_for(store->acquire(claim{key, claim_id, "bench", lease.ttl}));
        lease.token = std::get<grant>(got.value()).token;
        leases.push_back(lease);
        const auto shard = redis::shard_of_key(key);
        words[shard].push_back(bare_cluster::space_of(key) + ":lock:" + key);
        for (const auto& part : {std::to_string(number(lease.token)), std::string{"30000"},
                                 std::string{"0"}, std::string{"lose"}})
            arguments[shard].push_back(part);
    }
    std::vector<std::pair<std::string, std::vector<std::string>>> calls;
    for (const auto& [shard, names] : words) {
        const auto digest = redis::scripts::all().renew.digest;
        std::vector<std::string> call{"EVALSHA", digest, std::to_string(names.size())};
        call.insert(call.end(), names.begin(), names.end());
        call.push_back("604800000");
        call.insert(call.end(), arguments[shard].begin(), arguments[shard].end());
        const auto& first = names.front();
        calls.emplace_back(first.substr(first.find(":lock:") + 6), std::move(call));
    }
    const auto result = compare(
        60,
        [&] {
            for (const auto& [key, call] : calls) bare.owner_of(key).send(call);
            for (const auto& [key, call] : calls) bare.owner_of(key).receive();
        },
        [&] {
            const auto answers = loop.wait_for(store->renew(leases)).value();
            if (answers.front() != renewal::renewed) throw std::runtime_error{"a lease was lost"};
        });
    print_row(
        "Redis Cluster of 3, renewal of 10,000 leases; bare: the same batches through hiredis",
        micros_text(result.bare), micros_text(result.ours), result.ours / result.bare, "≤ 1.25",
        result.ours / result.bare <= 1.25);
}

void wait_for_a_replica() {
    testing_servers::redis_server master;
    testing_servers::redis_options following;
    following.primary = master.port();
    testing_servers::redis_server replica{following};
    const auto url = "redis://127.0.0.1:" + std::to_string(master.port());
    auto quick = locks::open(url), confirmed = locks::open(url + "?wait=1&timeout=20s");
    bare_redis bare{master.port()};
    // Until the replica has loaded what it was sent, it confirms nothing.
    do bare.ask({"SET", "probe", ""});
    while (bare.ask({"WAIT", "1", "1000"})->integer < 1);
    const auto pair_with_wait = [&] {
        bare.send(bare.acquire_words("waited/bare", claim_id));
        bare.send({"WAIT", "1", "5000"});
        const auto won = bare.receive();
        if (won->type != REDIS_REPLY_INTEGER || bare.receive()->integer < 1)
            throw std::runtime_error{"the replica does not follow"};
        bare.ask(bare.release_words("waited/bare", won->integer));
    };
    const auto both = compare(2000, pair_with_wait, [&] {
        confirmed.try_acquire("waited/ours", half_a_minute).value().release();
    });
    print_row(
        "Redis, acquire + release under wait=1, one caller that blocks; bare: the same scripts "
        "and WAIT 1 through hiredis",
        micros_text(both.bare), micros_text(both.ours), both.ours / both.bare, "≤ 1.15",
        both.ours / both.bare <= 1.15);
    const auto price = compare(
        2000, [&] { quick.try_acquire("quick", half_a_minute).value().release(); },
        [&] { confirmed.try_acquire("waited/ours", half_a_minute).value().release(); });
    print_row("the price of it; bare: pawl without wait=", micros_text(price.bare),
              micros_text(price.ours), price.ours / price.bare, "—", true);
}

void benchmark_failover() {
    {
        testing_servers::redis_cluster cluster;
        bare_cluster bare{cluster};
        auto store = locks::open("redis+cluster://" + cluster.hosts());
        one_caller(bare, store);
        many_callers(bare, store);
        renewals(bare, cluster.hosts());
    }
    wait_for_a_replica();
}

const benchmark registered{12, "redis-failover", benchmark_failover};

}  // namespace
}  // namespace pawl::benchmarks
