#include "agent/user_directory.hpp"

#include "base/duration.hpp"
#include "net/attachment.hpp"
#include "net/detached_thread.hpp"

#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace pawl::agent {
namespace {

using boost::asio::awaitable;
using answer = user_directory::answer;
using name = std::pair<std::string, std::string>;

// One that is being asked.
struct question {
    std::optional<answer> found;
    std::set<net::event*> waiting;
};

struct memory {
    answer what;
    instant until;
};

answer not_answered(const std::string& why) {
    return exec::account_fault{"the directory of users and groups did not answer" + why, false};
}

}  // namespace

struct user_directory::state : std::enable_shared_from_this<state> {
    explicit state(net::loop& where) : home{net::attach(where.get_executor())} {}

    const std::shared_ptr<net::attachment> home;
    std::map<name, memory> known;
    std::map<name, std::shared_ptr<question>> asked;

    const answer* find(const name& who) const {
        const auto found = known.find(who);
        if (found == known.end() || found->second.until <= lease_clock::now()) return nullptr;
        return &found->second.what;
    }
    void remember(const name& who, const answer& what) {
        if (known.size() >= users_remembered_max) known.clear();
        const millis lifetime = what.has_value() ? users_remembered_for : absence_remembered_for;
        known.insert_or_assign(who, memory{what, lease_clock::now() + lifetime});
    }

    // Throws std::system_error where there is no thread for it.
    std::shared_ptr<question> ask(const name& who) {
        if (const auto other = asked.find(who); other != asked.end()) return other->second;
        net::run_detached([me = shared_from_this(), who] {
            me->home->post([me, who, found = exec::find_account(who.first, who.second)] {
                me->end(who, found);
            });
        });
        return asked.emplace(who, std::make_shared<question>()).first->second;
    }
    void end(const name& who, const answer& found) {
        remember(who, found);
        const auto ended = asked.extract(who);
        if (ended.empty()) return;
        ended.mapped()->found = found;
        for (auto* each : ended.mapped()->waiting) each->notify_all();
    }
};

user_directory::user_directory(net::loop& where) : state_{std::make_shared<state>(where)} {}

awaitable<answer> user_directory::find(std::string user, std::string group,
                                       net::event& called_off) const {
    const name who{std::move(user), std::move(group)};
    if (const answer* known = state_->find(who)) co_return *known;
    std::shared_ptr<question> with;
    try {
        with = state_->ask(who);
    } catch (const std::system_error& error) {
        co_return not_answered(": " + error.code().message());
    }
    struct waiter {
        std::shared_ptr<question> with;
        net::event* who;
        ~waiter() { with->waiting.erase(who); }
    };
    with->waiting.insert(&called_off);
    const waiter until_the_end{with, &called_off};
    auto waiting = called_off.wait_for(directory_timeout);
    co_await std::move(waiting);
    if (with->found) co_return *with->found;
    co_return not_answered(" within " + base::format_duration(directory_timeout));
}

}  // namespace pawl::agent
