// Schedulers that stand for processes, over one store and one journal in memory.
#pragma once

#include "test_support/faults/eventually.hpp"
#include "test_support/faults/journal_world.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {

// What has run, where and when, for the test to look at. Thread-safe.
class run_log {
public:
    struct line {
        std::string node;
        run what;
    };

    void write(const std::string& node, const run& what) {
        const std::lock_guard lock{mutex_};
        lines_.push_back({node, what});
        lines_.back().what.save_checkpoint = {};
        changed_.notify_all();
    }
    std::vector<line> lines() const {
        const std::lock_guard lock{mutex_};
        return lines_;
    }
    std::size_t size() const {
        const std::lock_guard lock{mutex_};
        return lines_.size();
    }
    bool wait_for(std::size_t how_many) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, happening_timeout,
                                 [&] { return lines_.size() >= how_many; });
    }

    // The occurrences of all lines, in order.
    std::vector<std::int64_t> occurrences() const {
        const std::lock_guard lock{mutex_};
        std::vector<std::int64_t> all;
        for (const auto& one : lines_)
            if (one.what.occurrence) all.push_back(number(*one.what.occurrence));
        std::sort(all.begin(), all.end());
        return all;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<line> lines_;
};

// One process: its locks, its scheduler and the thread that runs it.
class scheduler_node {
public:
    scheduler_node(locks own, std::string name, scheduler_options options = {})
        : locks_{std::move(own)}, cron{locks_, named(std::move(options), name)}, name_{name} {}
    ~scheduler_node() { stop(); }

    void start() {
        ticking_ = std::thread{[this] { cron.run(stop_.get_token()); }};
    }
    void request_stop() { stop_.request_stop(); }
    // Waits until everything of it has ended.
    void stop() {
        request_stop();
        if (ticking_.joinable()) ticking_.join();
    }
    const std::string& name() const { return name_; }
    locks& its_locks() { return locks_; }

private:
    static scheduler_options named(scheduler_options options, std::string name) {
        options.node = std::move(name);
        return options;
    }

    locks locks_;

public:
    scheduler cron;

private:
    std::string name_;
    std::stop_source stop_;
    std::thread ticking_;
};

struct schedule_world : journal_world {
    run_log seen;

    std::unique_ptr<scheduler_node> node(const std::string& name, scheduler_options options = {}) {
        return std::make_unique<scheduler_node>(open(), name, std::move(options));
    }

    // A job that writes each of its runs into the run_log and is done.
    job note(const std::string& name, const std::string& where,
             lease_options lease = {.ttl = millis{5'000}}) {
        return {.name = name, .lease = lease, .body = [this, where](const run& now) {
                    seen.write(where, now);
                }};
    }
    // The same, and then `work`.
    job note_and(const std::string& name, const std::string& where, lease_options lease,
                 std::function<void(const run&)> work) {
        return {.name = name,
                .lease = lease,
                .body = [this, where, work = std::move(work)](const run& now) {
                    seen.write(where, now);
                    work(now);
                }};
    }
    std::vector<run_record> rows(const std::string& job,
                                 std::optional<run_status> status = std::nullopt) {
        run_filter which;
        which.job = job;
        which.status = status;
        return ask([&] { return records->list_runs(which, "", page_limit_max); }).records;
    }
    bool trigger(const std::string& job, const std::string& id,
                 std::vector<std::string> arguments = {}) {
        run_trigger what;
        what.id = id;
        what.job = job;
        what.arguments = std::move(arguments);
        what.starts_from = checkpoint_source::last_saved;
        what.by = "a test";
        return ask([&] { return records->add_trigger(what); });
    }
};

}  // namespace pawl
