// Acquire, release and renewal in etcd, beside bare gRPC with the same transactions.
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/etcd/client/client.hpp"
#include "engines/etcd/store/make_etcd_store.hpp"
#include "engines/etcd/store/transactions.hpp"
#include "net/loop.hpp"
#include "test_support/servers/etcd_server.hpp"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

namespace pawl::benchmarks {
namespace {

using grpc::internal::RpcMethod;

constexpr int callers = 64;
constexpr std::size_t leases_renewed = 10'000;
// As many keys as the store looks at in one transaction.
constexpr std::size_t looked_at_once = 120;

etcd::etcd_settings settings_for(std::uint16_t port, const std::string& name_space) {
    etcd::etcd_settings settings;
    settings.endpoints = {{"127.0.0.1", port}};
    settings.common.name_space = name_space;
    settings.common.timeout = millis{20'000};
    return settings;
}

std::shared_ptr<grpc::Channel> open_channel(std::uint16_t port) {
    return *etcd::make_channel({"127.0.0.1", port}, "127.0.0.1", settings_for(port, "bare"));
}

// The transactions of the store, by gRPC's blocking calls. The caller's thread polls the socket.
class bare_etcd {
public:
    explicit bare_etcd(std::shared_ptr<grpc::Channel> channel) : channel_{std::move(channel)} {
        etcd::transaction mark;
        mark.put(names_.marker, encode(etcd::marker_text{1, 1, 1, fence_token{}}));
        in_.marker_revision = txn(mark).header().revision();
        in_.marker = {1, 1, 1, fence_token{}};
        in_.keep_lease = grant(3600);
    }

    std::int64_t grant(std::int64_t seconds) {
        etcd::wire::LeaseGrantRequest request;
        request.set_ttl(seconds);
        etcd::wire::LeaseGrantResponse answer;
        call(etcd::method::lease_grant, request, answer);
        return answer.id();
    }

    etcd::transaction acquire(const std::string& key, std::int64_t lease) const {
        const claim wanted{key, "0123456789abcdef0123456789abcdef", "owner", millis{30'000}};
        etcd::grant_terms terms;
        terms.token = fence_token{2};
        terms.lease = lease;
        return acquire_transaction(names_, wanted, in_, terms);
    }
    // A key that has a record is granted by one transaction.
    void make_record(const std::string& key) {
        etcd::transaction record;
        const etcd::record_text ended{etcd::record_text::state::ended, fence_token{1}, 1, "owner"};
        txn(record.put(names_.record + key, encode(ended)));
    }
    etcd::transaction release(const std::string& key, std::int64_t created) const {
        etcd::ending end;
        end.created = created;
        end.record = {etcd::record_text::state::ended, fence_token{1}, 1, "owner"};
        return end_transaction(names_, key, in_, end);
    }

    void pair(const std::string& key, std::int64_t lease) {
        const auto granted = txn(acquire(key, lease));
        const auto ended = txn(release(key, granted.header().revision()));
        if (!granted.succeeded() || !ended.succeeded())
            throw std::runtime_error{"the bare etcd of the benchmark was rejected"};
    }

    etcd::wire::TxnResponse txn(const etcd::transaction& what) {
        etcd::wire::TxnResponse answer;
        call(etcd::method::txn, what.request(), answer);
        return answer;
    }

    const etcd::key_names& names() const { return names_; }
    grpc::Channel& channel() { return *channel_; }

private:
    void call(const char* path, const google::protobuf::MessageLite& request,
              google::protobuf::MessageLite& answer) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{20});
        const auto bytes = etcd::pack(request);
        grpc::ByteBuffer got;
        const RpcMethod method{path, RpcMethod::NORMAL_RPC};
        const auto status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
            channel_.get(), method, &context, bytes, &got);
        if (!status.ok() || !etcd::unpack(got, answer))
            throw std::runtime_error{status.error_message()};
    }

    const std::shared_ptr<grpc::Channel> channel_;
    const etcd::key_names names_{"bare"};
    etcd::epoch in_;
};

void one_caller(std::uint16_t port, locks& store) {
    bare_etcd bare{open_channel(port)};
    const auto lease = bare.grant(60);
    bare.make_record("one/bare");
    compare_one_caller(
        store, 2000,
        "etcd, acquire + release, one caller that blocks; bare: the same transactions by gRPC's "
        "blocking calls",
        [&] { bare.pair("one/bare", lease); });
    compare_one_coroutine(store, 20, 100, [&] { bare.pair("one/bare", lease); });
}

// ---- Many callers

double threads_rate(std::uint16_t port, int threads, int channels, int pairs_each) {
    std::vector<std::unique_ptr<bare_etcd>> clients;
    for (int i = 0; i < channels; ++i)
        clients.push_back(std::make_unique<bare_etcd>(open_channel(port)));
    // The last marker written is the one that all must name.
    std::vector<std::int64_t> leases;
    for (int i = 0; i < threads; ++i) leases.push_back(clients.back()->grant(60));
    auto& newest = *clients.back();
    for (int i = 0; i < threads; ++i) newest.make_record("many/bare/" + std::to_string(i));
    const auto micros = micros_of([&] {
        std::vector<std::jthread> all;
        for (int i = 0; i < threads; ++i)
            all.emplace_back([&, i] {
                auto& mine = *clients[static_cast<std::size_t>(i % channels)];
                const auto key = "many/bare/" + std::to_string(i);
                for (int n = 0; n < pairs_each; ++n) {
                    const auto lease = leases[static_cast<std::size_t>(i)];
                    const auto granted = mine.txn(newest.acquire(key, lease));
                    mine.txn(newest.release(key, granted.header().revision()));
                }
            });
    });
    return threads * pairs_each / micros * 1e6;
}

// gRPC's callbacks: so many chains of pairs at once, on one connection.
class chain : public std::enable_shared_from_this<chain> {
public:
    chain(bare_etcd& on, std::shared_ptr<grpc::Channel> channel, std::string key, int pairs)
        : on_{on},
          channel_{std::move(channel)},
          key_{std::move(key)},
          lease_{on.grant(60)},
          left_{pairs} {
        on_.make_record(key_);
    }

    std::future<void> start() {
        auto ended = done_.get_future();
        send(on_.acquire(key_, lease_), true);
        return ended;
    }

private:
    struct one {
        grpc::ClientContext context;
        grpc::ByteBuffer request, response;
    };

    void send(const etcd::transaction& what, bool acquiring) {
        auto now = std::make_shared<one>();
        now->request = etcd::pack(what.request());
        now->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{20});
        grpc::GenericStub stub{channel_};
        stub.UnaryCall(&now->context, etcd::method::txn, {}, &now->request, &now->response,
                       [self = shared_from_this(), now, acquiring](const grpc::Status& status) {
                           self->answered(status, now->response, acquiring);
                       });
    }

    void answered(const grpc::Status& status, const grpc::ByteBuffer& response, bool acquiring) {
        etcd::wire::TxnResponse answer;
        if (!status.ok() || !etcd::unpack(response, answer)) return done_.set_value();
        if (acquiring) return send(on_.release(key_, answer.header().revision()), false);
        if (--left_ == 0) return done_.set_value();
        send(on_.acquire(key_, lease_), true);
    }

    bare_etcd& on_;
    const std::shared_ptr<grpc::Channel> channel_;
    const std::string key_;
    const std::int64_t lease_;
    int left_;
    std::promise<void> done_;
};

double callbacks_rate(std::uint16_t port, int pairs_each) {
    const auto channel = open_channel(port);
    bare_etcd bare{channel};
    std::vector<std::shared_ptr<chain>> chains;
    for (int i = 0; i < callers; ++i)
        chains.push_back(
            std::make_shared<chain>(bare, channel, "many/chain/" + std::to_string(i), pairs_each));
    const auto micros = micros_of([&] {
        std::vector<std::future<void>> all;
        for (auto& each : chains) all.push_back(each->start());
        for (auto& each : all) each.wait();
    });
    return callers * pairs_each / micros * 1e6;
}

void many_callers(std::uint16_t port, locks& store) {
    constexpr int pairs_each = 40;
    std::vector<double> by_threads, by_channels, by_callbacks, ours;
    for (int round = 0; round < 5; ++round) {
        by_threads.push_back(threads_rate(port, callers, 1, pairs_each));
        by_channels.push_back(threads_rate(port, callers, 8, pairs_each));
        by_callbacks.push_back(callbacks_rate(port, pairs_each));
        ours.push_back(pairs_per_second(store, callers, pairs_each));
    }
    const double best = std::max({median(std::move(by_threads)), median(std::move(by_channels)),
                                  median(std::move(by_callbacks))});
    const double rate = median(std::move(ours));
    print_row(
        "etcd, 64 concurrent callers; bare: the best of 64 threads on 1 and on 8 connections and "
        "of gRPC's callbacks",
        rate_text(best, "pairs"), rate_text(rate, "pairs"), rate / best, "≥ 0.8",
        rate / best >= 0.8);
}

// ---- Renewal

// The same in the same order: every lease in one stream, and every key looked at meanwhile.
void renew_bare(bare_etcd& bare, const std::vector<std::int64_t>& leases,
                const std::vector<std::string>& keys) {
    const RpcMethod method{etcd::method::lease_keep_alive, RpcMethod::BIDI_STREAMING};
    grpc::ClientContext context;
    using stream = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>;
    const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> link{
        stream::Create(&bare.channel(), method, &context)};
    std::jthread writer{[&] {
        etcd::wire::LeaseKeepAliveRequest request;
        for (const auto lease : leases) {
            request.set_id(lease);
            grpc::WriteOptions how;
            if (lease != leases.back()) how.set_buffer_hint();
            link->Write(etcd::pack(request), how);
        }
        link->WritesDone();
    }};
    std::jthread looker{[&] {
        for (std::size_t begin = 0; begin < keys.size(); begin += looked_at_once) {
            etcd::transaction look;
            for (auto i = begin; i < std::min(begin + looked_at_once, keys.size()); ++i)
                look.get(bare.names().lock + keys[i]);
            bare.txn(look);
        }
    }};
    grpc::ByteBuffer answer;
    std::size_t renewed = 0;
    etcd::wire::LeaseKeepAliveResponse parsed;
    while (link->Read(&answer))
        if (etcd::unpack(answer, parsed) && parsed.ttl() > 0) ++renewed;
    if (renewed != leases.size()) throw std::runtime_error{"not every lease was renewed"};
}

void renewal_of_many(std::uint16_t port) {
    bare_etcd bare{open_channel(port)};
    std::vector<std::int64_t> leases;
    std::vector<std::string> keys;
    net::loop loop;
    auto store = etcd::make_etcd_store(loop, settings_for(port, "ours"));
    std::vector<held_lease> mine;
    for (std::size_t i = 0; i < leases_renewed; ++i) {
        keys.push_back("renewed/" + std::to_string(i));
        leases.push_back(bare.grant(600));
        bare.make_record(keys.back());
        bare.txn(bare.acquire(keys.back(), leases.back()));
        const claim wanted{keys.back(), std::to_string(i), "owner", millis{600'000}};
        const auto got = loop.wait_for(store->acquire(wanted));
        held_lease one;
        one.key = keys.back();
        one.token = std::get<grant>(*got).token;
        one.ttl = millis{600'000};
        mine.push_back(std::move(one));
    }
    std::vector<double> bare_samples, our_samples;
    for (int round = 0; round < 5; ++round) {
        bare_samples.push_back(micros_of([&] { renew_bare(bare, leases, keys); }));
        our_samples.push_back(micros_of([&] {
            const auto answers = loop.wait_for(store->renew(mine));
            if (answers.has_error() ||
                std::count(answers->begin(), answers->end(), renewal::renewed) !=
                    static_cast<std::ptrdiff_t>(mine.size()))
                throw std::runtime_error{"not every lease was renewed"};
        }));
    }
    const double bare_median = median(std::move(bare_samples)),
                 our_median = median(std::move(our_samples));
    print_row("etcd, renewal of 10,000 leases at once; bare: one stream and the same looks",
              micros_text(bare_median), micros_text(our_median), our_median / bare_median, "≤ 1.15",
              our_median / bare_median <= 1.15);
}

void benchmark_etcd() {
    testing_servers::etcd_server server;
    auto store = locks::open("etcd://127.0.0.1:" + std::to_string(server.port()));
    one_caller(server.port(), store);
    many_callers(server.port(), store);
    renewal_of_many(server.port());
}

const benchmark registered{60, "etcd", benchmark_etcd};

}  // namespace
}  // namespace pawl::benchmarks
