// What is inside a pawl::scheduler: its jobs as plans, and the dispatcher while it runs.
#pragma once

#include "net/attachment.hpp"
#include "runtime/core.hpp"
#include "schedule/dispatcher.hpp"
#include "schedule/execution/function_body.hpp"

#include <pawl/scheduler.hpp>

#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl::schedule {

// From a job and its schedule to what the dispatcher runs. Throws option_error for what makes no
// sense, in one line.
std::shared_ptr<const job_plan> plan_of(const pawl::job& what, const schedule_options& when,
                                        const std::string& node, const runtime::engine& store,
                                        std::shared_ptr<const function_context> around);

class scheduling : public net::attached, public std::enable_shared_from_this<scheduling> {
public:
    static std::shared_ptr<scheduling> make(runtime::core& home, scheduler_options options);
    scheduling(runtime::core& home, scheduler_options options);

    void add(const pawl::job& what, const schedule_options& when);
    bool remove(std::string_view name);
    std::optional<wall_instant> next(std::string_view name) const;

    // What may outlive `locks`.
    runtime::link& home() const { return *around_->home; }
    // Throws option_error if it runs already.
    void claim_to_run();
    // On the loop. Throws option_error where it runs already. Ends when everything has ended.
    static boost::asio::awaitable<bool> run(std::shared_ptr<scheduling> self, std::stop_token stop);

    // A host that goes first tells bodies to stop, and waits for them.
    void loop_ends() override;
    // On the loop: the dispatcher has to know the jobs as they are now.
    void apply();

private:
    std::vector<std::shared_ptr<const job_plan>> plans() const;
    // Null: none. REQUIRES: mutex_ is held.
    const job_plan* sharing_a_key(const job_plan& what) const;
    void tell();

    // Constant after construction
    runtime::core& core_;  // while a visit or a run lasts
    const bool keeps_records_;
    const scheduler_options options_;
    std::shared_ptr<net::attachment> attachment_;
    std::shared_ptr<const function_context> around_;
    mutable std::mutex mutex_;
    // Under mutex_
    std::map<std::string, std::shared_ptr<const job_plan>, std::less<>> plans_;
    bool running_ = false;
    bool told_ = false;  // apply() is on its way
    // State, on the loop
    std::shared_ptr<dispatcher> dispatcher_;
};

}  // namespace pawl::schedule
