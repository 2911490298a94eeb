// A dispatcher by itself, for tests of what happens between two of its steps.
#pragma once

#include "net/attachment.hpp"
#include "net/blocking_pool.hpp"
#include "schedule/dispatcher.hpp"
#include "schedule/dispatcher_fixture.hpp"
#include "schedule/execution/function_body.hpp"
#include "schedule/scheduling.hpp"
#include "test_support/faults/hooked_store.hpp"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

// A dispatcher by itself, on a loop that the test's own thread drives: what is done within a call
// of the journal is done between two steps of the node.
class lone_node : public schedule_world {
public:
    lone_node() {
        schedule::dispatcher::parts made_of;
        made_of.loop = &home_.loop();
        made_of.engine = home_.running();
        made_of.records = home_.run_journal();
        made_of.me = {"a", made_of.engine->owner(), "a test", ""};
        made_of.observer = ears_;
        node = std::make_shared<schedule::dispatcher>(std::move(made_of));
    }

    // Until it is told to stop.
    void run() { home_.loop().wait_for(schedule::dispatcher::run(node, stop.get_token(), 0ms)); }
    // As a program that ends, and as one that does not.
    void leave() { home_.loop().wait_for(schedule::dispatcher::leave(node)); }
    void outlast() { home_.loop().wait_for(schedule::dispatcher::outlast(node)); }
    void on_ready(std::function<void()> what) { ears_->ready = std::move(what); }
    std::shared_ptr<const schedule::job_plan> plan(const std::string& name,
                                                   const schedule_options& when) {
        return plan(note(name, "a"), when);
    }
    std::shared_ptr<const schedule::job_plan> plan(job what, const schedule_options& when) {
        return schedule::plan_of(std::move(what), when, "a", *home_.running(), around_);
    }
    const std::vector<std::string>& warnings() const { return ears_->warnings; }
    bool is_published(const std::string& name) {
        return ask([&] { return records->find_job(name); }).has_value();
    }

    std::stop_source stop;
    std::shared_ptr<testing_faults::hooks> store_hooks = std::make_shared<testing_faults::hooks>();

private:
    struct listening : schedule::dispatch_observer {
        std::function<void()> ready;
        std::vector<std::string> warnings;
        void log(log_level how, std::string_view line) override {
            if (how == log_level::warn) warnings.emplace_back(line);
        }
        void on_ready() override {
            if (ready) ready();
        }
    };

    std::shared_ptr<lease_store> make_store(net::loop& on) {
        return std::make_shared<testing_faults::hooked_store>(
            memory::make_memory_store(on, settings), store_hooks);
    }
    std::shared_ptr<journal> make_journal(net::loop& on) {
        return journals::checked(testing_faults::make_faulty_journal(
            memory::make_memory_journal(on, settings.name_space, settings), journal_faults));
    }

    runtime::core home_{[this](net::loop& on) { return make_store(on); },
                        settings,
                        {},
                        [this](net::loop& on) { return make_journal(on); }};
    std::shared_ptr<const schedule::function_context> around_ =
        std::make_shared<const schedule::function_context>(schedule::function_context{
            home_.loop(), home_.home(), net::attach(home_.loop().get_executor()),
            std::make_shared<net::blocking_pool>(1), std::stop_source{}});
    std::shared_ptr<listening> ears_ = std::make_shared<listening>();

public:
    std::shared_ptr<schedule::dispatcher> node;
};

}  // namespace pawl
