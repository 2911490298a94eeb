#include "test_support/simulation/remote.hpp"

#include "test_support/simulation/line.hpp"
#include "test_support/simulation/node.hpp"

#include <utility>
#include <vector>

namespace pawl::simulation {
namespace {

class store_wire final : public wire {
public:
    explicit store_wire(node& home) : home_{home}, life_{home.life()} {}

    boost::asio::any_io_executor executor() const override { return home_.loop().get_executor(); }
    nanos timeout() const override { return all().plan.settings.timeout; }
    void on_timeout() override { all().judge.happened(fact::unknown); }
    bool is_open() const override { return true; }
    void on_lost(std::weak_ptr<std::function<void()>> who) override {
        home_.on_lost_connection(std::move(who));
    }
    void tell(std::function<void()> what) override { home_.tell(life_, std::move(what)); }

    int carry_there(std::function<void()> deliver, copies /*how_many*/) override {
        return all().carry(home_.index(), deliver);
    }
    void carry_back(std::function<void()> deliver) override { all().carry(home_.index(), deliver); }
    reception arrive() override {
        if (all().store.up()) return reception::served;
        return all().random.happens(0.5) ? reception::rejected : reception::unheard;
    }

private:
    world& all() const { return home_.home(); }

    node& home_;
    const std::uint64_t life_;
};

class remote_store final : public lease_store {
public:
    explicit remote_store(node& home)
        : home_{home},
          all_{home.home()},
          notifies_{all_.random.happens(0.8)},
          line_{std::make_shared<store_wire>(home)} {}

    store_traits traits() const noexcept override {
        return {.strict_fencing = true, .notifies = notifies_, .atomic_batch = false};
    }

    async<acquire_result<grant>> acquire(claim wanted) override {
        if (all_.plan.bug == plant::claim_id_reused) wanted.id = reused_id(wanted.key);
        return ask<acquire_result<grant>>(wanted.key,
                                          [wanted, wall = home_.wall()](simulated_store& at) {
                                              return at.acquire(wanted, wall.time_since_epoch());
                                          });
    }
    async<bool> withdraw(withdrawal given_up) override {
        if (all_.plan.bug == plant::claim_id_reused) given_up.id = reused_id(given_up.key);
        return ask<bool>(given_up.key,
                         [given_up](simulated_store& at) { return at.withdraw(given_up); });
    }
    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        const std::vector<held_lease> asked(leases.begin(), leases.end());
        return line_.ask<std::vector<renewal>>([&all = all_, asked] {
            std::vector<renewal> answers;
            for (const auto& each : asked) {
                answers.push_back(all.store.renew(each));
                all.audit(each.key);
            }
            return result<std::vector<renewal>>{std::move(answers)};
        });
    }
    async<bool> release(std::string key, fence_token token, release_options how) override {
        return ask<bool>(
            key, [key, token, how](simulated_store& at) { return at.release(key, token, how); });
    }
    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        return ask<bool>(key, [key, token, delay](simulated_store& at) {
            return at.force_release(key, token, delay);
        });
    }
    async<std::optional<record>> inspect(std::string key) override {
        return ask<std::optional<record>>(key,
                                          [key](simulated_store& at) { return at.inspect(key); });
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        return ask<page>(prefix, [prefix, after, limit](simulated_store& at) {
            return at.list(prefix, after, limit);
        });
    }
    async<void> wait_change(std::string key, fence_token seen) override {
        return line_.listen([&all = all_, key, seen](std::function<void()> told) {
            all.store.listen(key, seen, std::move(told));
        });
    }
    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        return ask<fence_result>(resource, [resource, token, rule](simulated_store& at) {
            return at.fence(resource, token, rule);
        });
    }

private:
    template <class T, class Verb>
    async<T> ask(const std::string& key, Verb verb) {
        return line_.ask<T>([&all = all_, key, verb] {
            auto answer = verb(all.store);
            all.audit(key);
            return result<T>{std::move(answer)};
        });
    }
    std::string reused_id(const std::string& key) const { return key + home_.name(); }

    node& home_;
    world& all_;
    const bool notifies_;
    line line_;
};

}  // namespace

std::shared_ptr<lease_store> make_remote_store(node& home) {
    return std::make_shared<remote_store>(home);
}

}  // namespace pawl::simulation
