#include "agent/user_directory.hpp"

#include "base/duration.hpp"
#include "net/shared_questions.hpp"

#include <map>
#include <system_error>
#include <utility>

namespace pawl::agent {
namespace {

using boost::asio::awaitable;
using answer = user_directory::answer;
using name = std::pair<std::string, std::string>;

struct memory {
    answer what;
    instant until;
};

using questions = net::shared_questions<name, answer>;

answer not_answered(const std::string& why) {
    return exec::account_fault{"the directory of users and groups did not answer" + why, false};
}

}  // namespace

struct user_directory::state {
    std::map<name, memory> known;
    std::shared_ptr<questions> asked;

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

user_directory::user_directory(net::loop& where) : state_{std::make_shared<state>()} {
    questions::kind what;
    // More than an agent has users: one of this machine waits for none of a directory that hangs.
    what.threads_max = 256;
    what.ask = [](const name& who) { return exec::find_account(who.first, who.second); };
    what.no_thread = [](const name&, const std::error_code& error) {
        return not_answered(": " + error.message());
    };
    what.heard = [mine = std::weak_ptr{state_}](const name& who, const answer& found) {
        if (const auto living = mine.lock()) living->remember(who, found);
    };
    state_->asked = questions::on(where.get_executor(), std::move(what));
}

awaitable<answer> user_directory::find(std::string user, std::string group,
                                       net::event& called_off) const {
    const auto mine = state_;
    name who{std::move(user), std::move(group)};
    if (const answer* known = mine->find(who)) co_return *known;
    auto asking = questions::answer_to(mine->asked, std::move(who),
                                       lease_clock::now() + directory_timeout, called_off);
    const auto found = co_await std::move(asking);
    if (found) co_return *found;
    co_return not_answered(" within " + base::format_duration(directory_timeout));
}

}  // namespace pawl::agent
