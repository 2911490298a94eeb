// For the tests of this module: a launcher, a loop, and bodies that run to their end.
#pragma once

#include "agent/command_body.hpp"
#include "net/loop.hpp"
#include "tests/crash/observation.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::agent {

inline config::job_settings job_of(std::vector<std::string> command) {
    config::job_settings job;
    job.name = "trial";
    job.command = std::move(command);
    job.grace = millis{30'000};
    job.arguments.any = true;
    return job;
}

inline config::job_settings shell(const std::string& script) {
    return job_of({"/bin/sh", "-c", script});
}

inline schedule::run_order order_of(std::vector<std::string> arguments = {}) {
    schedule::run_order order;
    order.run_id = "8c5e0b6e-run";
    order.job = "trial";
    order.key = "job/trial";
    order.token = fence_token{42};
    order.arguments = std::move(arguments);
    return order;
}

// What a test does to a body; on the loop. `before` it runs, and whenever it has written, with all
// that it has written so far.
struct interference {
    std::function<void(schedule::body&)> before{};
    std::function<void(schedule::body&, const std::string&)> on_output{};
};

struct trial_result {
    schedule::work_result how;
    std::string output;
};

inline boost::asio::awaitable<trial_result> run_body(schedule::body_maker make,
                                                     schedule::run_order order, interference what) {
    const auto written = std::make_shared<std::string>();
    const auto self = std::make_shared<std::weak_ptr<schedule::body>>();
    const std::shared_ptr<schedule::body> body =
        make([written, self, act = what.on_output](std::string_view bytes) {
            written->append(bytes);
            if (const auto alive = self->lock(); alive && act) act(*alive, *written);
        });
    *self = body;
    if (what.before) what.before(*body);
    auto running = body->run(std::move(order));
    trial_result ended;
    ended.how = co_await std::move(running);
    ended.output = *written;
    co_return ended;
}

// REQUIRES: no other threads when it begins.
class body_trial {
public:
    body_trial() : loop_{std::make_unique<net::loop>()} {
        around_ = std::make_shared<command_context>(*loop_, launcher_, addresses{});
    }

    trial_result run(config::job_settings job, schedule::run_order order = order_of(),
                     interference what = {}) {
        auto work = run_body(maker(std::move(job)), std::move(order), std::move(what));
        return loop_->wait_for(std::move(work));
    }
    schedule::body_maker maker(config::job_settings job) const {
        return command_bodies(around_,
                              std::make_shared<const config::job_settings>(std::move(job)));
    }
    // For the bodies that are made from now on.
    void surround_with(addresses stores, millis lock_delay) {
        auto other = std::make_shared<command_context>(*loop_, launcher_, std::move(stores));
        other->lock_delay = lock_delay;
        around_ = std::move(other);
    }
    void inspect_by(lease_reader inspect) {
        auto other = std::make_shared<command_context>(*loop_, launcher_, addresses{});
        other->inspect = std::move(inspect);
        around_ = std::move(other);
    }
    void check_fences_by(decltype(run_verbs::check_fence) check) {
        auto other = std::make_shared<command_context>(*loop_, launcher_, addresses{});
        other->check_fence = std::move(check);
        around_ = std::move(other);
    }
    void log_by(decltype(command_context::log) log) {
        auto other = std::make_shared<command_context>(*loop_, launcher_, addresses{});
        other->log = std::move(log);
        around_ = std::move(other);
    }
    const exec::launcher& guards() const { return launcher_; }
    std::shared_ptr<const command_context> around() const { return around_; }
    net::loop& loop() { return *loop_; }
    // Whatever runs on it dies as if this process had.
    void end_loop() {
        around_.reset();
        loop_.reset();
    }

private:
    exec::launcher launcher_ = exec::launcher::start();
    std::unique_ptr<net::loop> loop_;
    std::shared_ptr<const command_context> around_;
};

}  // namespace pawl::agent
