// The system's users, asked without stopping the loop.
//
// The directory may be on the network (LDAP), where an answer takes seconds or never comes. So it
// is asked off the loop, for each user once, and its answers are remembered: a hundred jobs that
// start in one second ask once. What hangs holds up nothing but a thread that is not waited for.
#pragma once

#include "exec/account.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace pawl::agent {

// A user who is added to a group counts as a member after this long.
constexpr millis users_remembered_for{60'000};
// An operator may be about to create the user who is missing.
constexpr millis absence_remembered_for{1'000};
constexpr std::size_t users_remembered_max = 1024;
// A job that has waited so long for the directory may run later, or elsewhere.
constexpr millis directory_timeout{30'000};

// Used on its loop only.
class user_directory {
public:
    using answer = boost::system::result<exec::account, exec::account_fault>;

    explicit user_directory(net::loop& where);

    // As exec::find_account. Without an answer where `called_off`, which outlives the call, is set,
    // or the time is up.
    boost::asio::awaitable<answer> find(std::string user, std::string group,
                                        net::event& called_off) const;

private:
    struct state;
    // Shared with the coroutines that wait for an answer.
    std::shared_ptr<state> state_;
};

}  // namespace pawl::agent
