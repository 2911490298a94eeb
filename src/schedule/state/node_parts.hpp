// What a node that runs jobs is made of: whom it asks, what it is called, and who hears of it.
#pragma once

#include "net/loop.hpp"
#include "runtime/core.hpp"
#include "runtime/engine.hpp"
#include "schedule/queue/key_state.hpp"
#include "schedule/timing/timetable.hpp"

#include <pawl/policies.hpp>
#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::schedule {

// What a node is called.
struct node_identity {
    std::string name;   // as configured
    std::string owner;  // of its leases: fresh for every start
    std::string version;
    std::string address;  // of its API
};

// Override what you want to hear of. On the loop: a method that blocks delays everything.
class dispatch_observer {
public:
    virtual ~dispatch_observer() = default;

    virtual void log(log_level /*how*/, std::string_view /*line*/) {}
    // It knows what there is to know, and its schedules fire from now on.
    virtual void on_ready() {}
    virtual void on_run_started(const std::string& /*job*/, millis /*late*/, fence_token) {}
    virtual void on_run_finished(const std::string& /*job*/, run_status, millis /*took*/) {}
    // Another attempt of the run begins.
    virtual void on_retry(const std::string& /*job*/) {}
    // This node has recorded how a run ended whose own node is unresponsive: lost or abandoned.
    virtual void on_run_judged(const std::string& /*job*/, run_status) {}
    virtual void on_skipped(const std::string& /*job*/, occurrence, skip_reason) {}
    // So many occurrences before this one were due, and no node makes up for them.
    virtual void on_missed(const std::string& /*job*/, wall_instant /*before*/,
                           std::size_t /*how_many*/) {}
    virtual void on_fail_open(const std::string& /*job*/) {}
    virtual void on_orphan_resumed(const std::string& /*job*/) {}
    virtual void on_stale_runs(std::size_t /*how_many*/) {}
    // Whenever that changes; at first it is taken to answer.
    virtual void on_journal(bool /*answers*/) {}
};

struct node_parts {
    net::loop* loop = nullptr;
    std::shared_ptr<runtime::engine> engine{};
    std::shared_ptr<journal> records{};  // null: nothing is recorded, no user can ask
    node_identity me{};
    std::size_t runs_max = 8;
    std::shared_ptr<dispatch_observer> observer{};
    millis recording_timeout = runtime::recording_timeout;
};

}  // namespace pawl::schedule
