#include "agent/user_directory.hpp"

#include "net/event.hpp"

#include <map>
#include <optional>
#include <utility>

namespace pawl::agent {

using boost::asio::awaitable;

struct user_directory::state {
    explicit state(net::loop& where) : where{where} {}

    using name = std::pair<std::string, std::string>;
    struct memory {
        answer what;
        instant until;
    };

    net::loop& where;
    std::map<name, memory> known;
    // Of the question that is being asked.
    std::shared_ptr<net::event> answered;

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
};

namespace {

struct question {
    std::string user;
    std::string group;
    user_directory::answer operator()() const { return exec::find_account(user, group); }
};

}  // namespace

user_directory::user_directory(net::loop& where) : state_{std::make_shared<state>(where)} {}

awaitable<user_directory::answer> user_directory::find(std::string user, std::string group) const {
    const std::shared_ptr<state> me = state_;
    const state::name who{user, group};
    for (;;) {
        if (const answer* known = me->find(who)) co_return *known;
        if (!me->answered) break;
        const auto other = me->answered;
        auto waiting = other->wait();
        co_await std::move(waiting);
    }
    const auto mine = std::make_shared<net::event>();
    me->answered = mine;
    question asked{std::move(user), std::move(group)};
    auto asking = me->where.run_blocking(std::move(asked));
    answer found = co_await std::move(asking);
    me->remember(who, found);
    me->answered.reset();
    mine->set();
    co_return found;
}

}  // namespace pawl::agent
