#include "benchmarks/bare_zookeeper.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
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

class threaded_client final : public bare_zookeeper {
public:
    explicit threaded_client(std::uint16_t port) {
        const auto hosts = "127.0.0.1:" + std::to_string(port);
        handle_ = zookeeper_init2(
            hosts.c_str(),
            [](zhandle_t*, int, int state, const char*, void* me) {
                if (state == ZOO_CONNECTED_STATE)
                    static_cast<threaded_client*>(me)->connected_.set_value();
            },
            40'000, nullptr, this, ZOO_NO_LOG_CLIENTENV, [](const char*) {});
        if (handle_ == nullptr) throw std::runtime_error{"the bare client cannot start"};
        zoo_set_servers_resolution_delay(handle_, -1);
        connected_.get_future().get();
    }
    ~threaded_client() override { zookeeper_close(handle_); }
    threaded_client(const threaded_client&) = delete;
    threaded_client& operator=(const threaded_client&) = delete;

    void create(const std::string& path) override {
        expect(zoo_create(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0));
    }
    std::vector<std::string> children(const std::string& path) override {
        String_vector names{};
        expect(zoo_get_children(handle_, path.c_str(), 0, &names));
        std::vector<std::string> found{names.data, names.data + names.count};
        deallocate_String_vector(&names);
        return found;
    }

    void pair(const std::string& record) override {
        auto& on = key_of(record);
        on.write_acquire();
        expect(zoo_multi(handle_, 2, on.steps.data(), on.results.data()));
        on.version = on.stat.version;
        on.write_release();
        expect(zoo_multi(handle_, 2, on.steps.data(), on.results.data()));
        on.version = on.stat.version;
    }

    double rate(const std::vector<std::string>& records, int pairs_each) override {
        std::vector<chain> chains;
        for (const auto& one : records) chains.emplace_back(*this, key_of(one), pairs_each * 2);
        running_ = chains.size();
        const auto begun = std::chrono::steady_clock::now();
        for (auto& one : chains) one.send();
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return running_ == 0; });
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        return static_cast<double>(records.size()) * pairs_each / took.count();
    }

    void renew(const std::vector<std::string>& leases) override {
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
                        const_cast<threaded_client*>(static_cast<const threaded_client*>(data));
                    const std::lock_guard lock{home->mutex_};
                    if (--home->running_ == 0) home->changed_.notify_all();
                },
                this));
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return running_ == 0; });
    }

private:
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

    // Acquires and releases in turn, each when the one before has been answered.
    struct chain {
        chain(threaded_client& home, key& on, int left) : home{&home}, on{&on}, left{left} {}

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

        threaded_client* home;
        key* on;
        int left;
    };

    key& key_of(const std::string& record) {
        return keys_.try_emplace(record, record).first->second;
    }

    zhandle_t* handle_ = nullptr;
    std::map<std::string, key> keys_;
    std::promise<void> connected_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t running_ = 0;  // under mutex_
};

}  // namespace
}  // namespace pawl::benchmarks

// What the benchmark looks for in this module.
extern "C" pawl::benchmarks::bare_zookeeper* pawl_bare_zookeeper(std::uint16_t port) {
    return new pawl::benchmarks::threaded_client{port};
}
