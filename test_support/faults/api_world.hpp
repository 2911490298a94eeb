// An agent's API without its server: routes over a store and a journal in memory, which fail when
// told to.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"
#include "engines/memory/journal/memory_journal.hpp"
#include "engines/rules/journal/checked_journal.hpp"
#include "http/router.hpp"
#include "test_support/faults/faulty_journal.hpp"
#include "test_support/faults/hold_keys.hpp"
#include "test_support/faults/hooked_store.hpp"
#include "test_support/faults/world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

struct asked {
    asked(std::string method, std::string target, std::string body = {})
        : method{std::move(method)}, target{std::move(target)}, body{std::move(body)} {}

    std::string method, target, body;
    std::string caller = "alice";
    config::user_role role = config::user_role::admin;
    std::string if_none_match{};
    std::vector<http::field> fields{};  // beside those
    std::stop_token gone{};
    std::function<bool()> is_still_admitted{};
};

inline boost::json::object json_in(const http::response& from) {
    return boost::json::parse(from.body).as_object();
}
inline std::string field_in(const http::response& from, std::string_view name) {
    for (const auto& one : from.fields)
        if (one.name == name) return one.value;
    return {};
}
inline std::int64_t number_in(const http::response& from, std::string_view name) {
    return json_in(from).at(name).to_number<std::int64_t>();
}
inline std::string text_in(const http::response& from, std::string_view name) {
    return std::string{json_in(from).at(name).as_string()};
}

// What agents of one store and one journal share.
struct api_store {
    store_settings settings{.name_space = fresh_name_space()};
    std::shared_ptr<testing_faults::plan> faults = std::make_shared<testing_faults::plan>();
    std::shared_ptr<testing_faults::journal_plan> journal_faults =
        std::make_shared<testing_faults::journal_plan>();
    bool keeps_journal = true;
};

class api_world {
public:
    using maker = api::routes (*)(api::shared_context);

    explicit api_world(maker make, api_store where = {})
        : where_{std::move(where)},
          core_{[this](net::loop& loop) { return store_on(loop); }, where_.settings, {}, {}} {
        auto around = std::make_shared<api::context>();
        around->core = &core_;
        around->instruments = std::make_shared<metrics::instruments>(metrics::build_facts{});
        around->store_shown = "memory:";
        around->engine = "memory";
        around->log = [this](log_level, std::string_view line) {
            const std::lock_guard lock{mutex_};
            log_.emplace_back(line);
        };
        around->diagnose = [this] { return diagnose ? diagnose() : health::diagnosis{}; };
        if (where_.keeps_journal) around->records = core_.loop().wait_for(open_journal());
        around_ = around;
        routes_ = make(around_);
        for (const auto& one : routes_) router_.add(one.method, one.pattern);
    }

    // Begins to answer; what is no route throws.
    std::future<http::response> begin(const asked& what) {
        auto request = std::make_shared<http::request>();
        const auto mark = what.target.find('?');
        request->method = what.method;
        request->path = what.target.substr(0, mark);
        if (mark != std::string::npos) request->query = what.target.substr(mark + 1);
        request->body = what.body;
        if (!what.body.empty()) request->fields.push_back({"content-type", "application/json"});
        if (!what.if_none_match.empty())
            request->fields.push_back({"if-none-match", what.if_none_match});
        for (const auto& one : what.fields) request->fields.push_back(one);
        request->peer = "192.0.2.7";
        request->gone = what.gone;
        auto call = std::make_shared<api::call>();
        call->query = http::parse_query(request->query).value();
        call->who.name = what.caller;
        call->who.role = what.role;
        call->is_still_admitted = what.is_still_admitted;
        const auto found = std::get<http::matched>(router_.find(what.method, request->path));
        call->path = found.values;
        call->request = std::move(request);
        return boost::asio::co_spawn(core_.loop().get_executor(),
                                     routes_[found.route].answer(std::move(call)),
                                     boost::asio::use_future);
    }
    http::response ask(const asked& what) { return begin(what).get(); }

    // Begins what goes on beside, such as a body that is a stream.
    std::future<void> start(boost::asio::awaitable<void> what) {
        return boost::asio::co_spawn(core_.loop().get_executor(), std::move(what),
                                     boost::asio::use_future);
    }

    // What is done on the loop, such as setting a hook.
    void on_loop(std::function<void()> what) {
        auto doing = [](std::function<void()> job) -> boost::asio::awaitable<bool> {
            job();
            co_return true;
        };
        core_.loop().wait_for(doing(std::move(what)));
    }

    std::optional<record> inspect(const std::string& key) {
        return core_.loop().wait_for(core_.running()->store().inspect(key)).value();
    }
    // Each under a lease of its own, without one who renews it.
    void hold(std::vector<std::string> keys) { hold_keys(core_, std::move(keys)); }
    std::vector<std::string> log() const {
        const std::lock_guard lock{mutex_};
        return log_;
    }
    std::string metrics() { return around_->instruments->text({}); }
    template <class Verb>
    auto journal(const Verb& verb) {
        return core_.loop().wait_for(verb(*around_->records)).value();
    }

    // Each entry of the audit, the newest first: who did what to which, and why.
    std::vector<std::string> audited() {
        std::vector<std::string> all;
        for (const auto& one :
             journal([](pawl::journal& records) { return records.list_audit(0, 100); }))
            all.push_back(one.actor + " " + one.action + " " + one.target + " " + one.detail);
        return all;
    }
    // What `read` finds on the pages of a list, from the first to the last, `limit` to a page.
    template <class Read>
    std::vector<std::string> on_all_pages(const std::string& list, const Read& read,
                                          std::size_t limit = 2) {
        std::vector<std::string> all;
        std::string after;
        do {
            const auto page =
                ask({"GET", list + "?limit=" + std::to_string(limit) + "&after=" + after});
            if (page.status != 200) throw std::runtime_error{list + ": " + page.body};
            for (const auto& one : read(page)) all.push_back(one);
            after = text_in(page, "next");
        } while (!after.empty());
        return all;
    }

    testing_faults::hooks& hooks() { return *hooks_; }
    const api_store& where() const { return where_; }

    // On the loop's pool.
    std::function<health::diagnosis()> diagnose{};

private:
    std::shared_ptr<lease_store> store_on(net::loop& loop) {
        auto real = memory::make_memory_store(loop, where_.settings);
        auto hooked = std::make_shared<testing_faults::hooked_store>(std::move(real), hooks_);
        return testing_faults::make_faulty_store(std::move(hooked), where_.faults);
    }
    boost::asio::awaitable<std::shared_ptr<pawl::journal>> open_journal() {
        auto real =
            memory::make_memory_journal(core_.loop(), where_.settings.name_space, where_.settings);
        co_return journals::checked(
            testing_faults::make_faulty_journal(std::move(real), where_.journal_faults));
    }

    api_store where_;
    std::shared_ptr<testing_faults::hooks> hooks_ = std::make_shared<testing_faults::hooks>();
    mutable std::mutex mutex_;
    std::vector<std::string> log_;  // under mutex_
    runtime::core core_;
    // After the core, so that they go first: timers and journals die before their loop.
    api::shared_context around_;
    api::routes routes_;
    http::router router_;
};

}  // namespace pawl
