// Fenced Redlock over three Redis, beside bare hiredis that sends the same scripts to the same
// nodes, and beside the plain Redlock that has no write-back.
#include "benchmarks/bare_redis.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/redlock/store/lock_text.hpp"
#include "engines/redlock/store/redlock_store.hpp"
#include "engines/redlock/store/renewing.hpp"
#include "engines/redlock/store/vote_scripts.hpp"
#include "test_support/servers/redlock_servers.hpp"

#include <algorithm>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

constexpr const char* claim_id = "0123456789abcdef0123456789abcdef";
constexpr const char* retention_ms = "604800000";
constexpr std::size_t leases = 10'000;

// One blocking connection to each node: what is asked goes to all before any answer is read.
class bare_redlock {
public:
    explicit bare_redlock(const testing_servers::redlock_servers& servers) {
        const auto& scripts = redlock::vote_scripts::all();
        for (const auto port : servers.ports()) {
            nodes_.push_back(std::make_unique<bare_redis>(port));
            for (const auto* one :
                 {&scripts.acquire, &scripts.confirm, &scripts.release, &scripts.renew})
                nodes_.back()->ask({"SCRIPT", "LOAD", std::string{one->text}});
        }
    }

    // So many keys at once, each through its three steps.
    void fenced_pairs(const std::string& key, int count) {
        const auto name = [&](int i) { return "pawl:redlock:" + key + std::to_string(i); };
        for (int i = 0; i < count; ++i)
            send_all({"EVALSHA", redlock::vote_scripts::all().acquire.digest, "2", marker, name(i),
                      "", claim_id, "a1", "bench:1:1:bare", "30000", retention_ms});
        flush();
        std::vector<std::vector<std::int64_t>> given(nodes_.size());
        for (std::size_t n = 0; n < nodes_.size(); ++n)
            for (int i = 0; i < count; ++i) given[n].push_back(nodes_[n]->receive()->integer);
        std::vector<std::string> tokens;
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            std::int64_t highest = 0;
            for (const auto& node : given) highest = std::max(highest, node[at]);
            tokens.push_back(digits(highest));
            for (std::size_t n = 0; n < nodes_.size(); ++n)
                nodes_[n]->send({"EVALSHA", redlock::vote_scripts::all().confirm.digest, "2",
                                 marker, name(i), "", claim_id, digits(given[n][at]), tokens.back(),
                                 retention_ms});
        }
        expect_yes(count);
        for (int i = 0; i < count; ++i)
            send_all({"EVALSHA", redlock::vote_scripts::all().release.digest, "1", name(i),
                      tokens[static_cast<std::size_t>(i)], claim_id, "0", "", retention_ms});
        expect_yes(count);
    }

    // SET NX PX on all, and compare-and-delete on all: the published algorithm, without tokens.
    void plain_pair(const std::string& key) {
        const auto name = "unfenced:" + key;
        send_all({"SET", name, claim_id, "NX", "PX", "30000"});
        flush();
        for (const auto& one : nodes_) one->receive();
        send_all({"EVAL",
                  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', "
                  "KEYS[1]) else return 0 end",
                  "1", name, claim_id});
        expect_yes(1);
    }

    void renew(const std::vector<held_lease>& all, const std::string& id) {
        for (std::size_t begin = 0; begin < all.size(); begin += redlock::renew_batch_max) {
            const auto end = std::min(all.size(), begin + redlock::renew_batch_max);
            std::vector<std::string> words{"EVALSHA", redlock::vote_scripts::all().renew.digest,
                                           std::to_string(end - begin + 1), marker};
            for (auto i = begin; i < end; ++i) words.push_back("pawl:redlock:" + all[i].key);
            words.insert(words.end(), {"", retention_ms});
            for (auto i = begin; i < end; ++i)
                words.insert(words.end(), {redlock::digits_of(all[i].token), "30000", "0", id});
            send_all(words);
            flush();
            for (const auto& one : nodes_) one->receive();
        }
    }

private:
    static constexpr const char* marker = "pawl:redlock-marker";

    static std::string digits(std::int64_t token) {
        return redlock::digits_of(fence_token{static_cast<std::uint64_t>(token)});
    }
    void send_all(const std::vector<std::string>& words) {
        for (const auto& one : nodes_) one->send(words);
    }
    void flush() {
        for (const auto& one : nodes_) one->flush();
    }
    void expect_yes(int count) {
        flush();
        for (const auto& one : nodes_)
            for (int i = 0; i < count; ++i)
                if (one->receive()->integer != 1) throw std::runtime_error{"the bare side failed"};
    }

    std::vector<std::unique_ptr<bare_redis>> nodes_;
};

void one_caller(bare_redlock& bare, locks& store) {
    compare_one_caller(
        store, 3000,
        "Redlock over 3 Redis, acquire + release, one caller that blocks; bare: the same "
        "scripts through hiredis, to all nodes before any answer is read",
        [&] { bare.fenced_pairs("one/bare", 1); });
    compare_one_coroutine(store, 30, 100, [&] { bare.fenced_pairs("one/bare", 1); });

    const auto fence = compare(
        3000, [&] { bare.plain_pair("one/plain"); }, [&] { bare.fenced_pairs("one/bare", 1); });
    print_row(
        "the fenced scripts with their write-back; bare: plain Redlock, `SET NX PX` + "
        "compare-and-delete, both through hiredis",
        micros_text(fence.bare), micros_text(fence.ours), fence.ours / fence.bare, "≤ 2.5",
        fence.ours / fence.bare <= 2.5);
}

void many_callers(bare_redlock& bare, locks& store) {
    constexpr int callers = 64;
    std::vector<double> bare_rates, our_rates;
    for (int round = 0; round < 7; ++round) {
        const auto micros = micros_of([&] {
            for (int i = 0; i < 40; ++i) bare.fenced_pairs("many/bare/", callers);
        });
        bare_rates.push_back(40 * callers / micros * 1e6);
        our_rates.push_back(pairs_per_second(store, callers, 40));
    }
    const double bare_rate = median(std::move(bare_rates)), rate = median(std::move(our_rates));
    print_row(
        "Redlock over 3 Redis, 64 concurrent callers; bare: hiredis, pipelined 64 deep to "
        "each node",
        rate_text(bare_rate, "pairs"), rate_text(rate, "pairs"), rate / bare_rate, "≥ 0.8",
        rate / bare_rate >= 0.8);
}

void many_leases(bare_redlock& bare, const testing_servers::redlock_servers& servers) {
    net::loop where;
    redlock::redlock_settings settings;
    for (const auto port : servers.ports()) settings.nodes.emplace_back().port = port;
    const auto store = redlock::make_redlock_store(where, settings);
    std::vector<held_lease> all;
    for (std::size_t i = 0; i < leases; ++i) {
        const claim wanted{"held/" + std::to_string(i), claim_id, "bench", millis{30'000}};
        const auto answer = where.wait_for(store->acquire(wanted)).value();
        auto& one = all.emplace_back();
        one.key = wanted.key;
        one.token = std::get<grant>(answer).token;
        one.ttl = wanted.ttl;
    }
    const auto renewed = compare(
        20, [&] { bare.renew(all, claim_id); },
        [&] {
            const auto answers = where.wait_for(store->renew(all)).value();
            if (std::count(answers.begin(), answers.end(), renewal::renewed) !=
                static_cast<std::ptrdiff_t>(leases))
                throw std::runtime_error{"a lease was not renewed"};
        });
    print_row(
        "Redlock over 3 Redis, renewal of 10,000 leases; bare: the same batches of 512 "
        "through hiredis",
        micros_text(renewed.bare), micros_text(renewed.ours), renewed.ours / renewed.bare, "≤ 1.15",
        renewed.ours / renewed.bare <= 1.15);
}

void benchmark_redlock() {
    const testing_servers::redlock_servers servers{3, {}};
    auto store = locks::open("redlock://" + servers.hosts() + "?quarantine=off");
    bare_redlock bare{servers};
    one_caller(bare, store);
    many_callers(bare, store);
    many_leases(bare, servers);
}

const benchmark registered{14, "redlock", benchmark_redlock};

}  // namespace
}  // namespace pawl::benchmarks
