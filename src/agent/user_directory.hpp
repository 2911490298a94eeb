// The system's users, asked without stopping the loop.
//
// The directory may be on the network (LDAP), where an answer takes seconds or never comes. So it
// is asked one thing at a time, off the loop, and its answers are remembered: a hundred jobs that
// start in one second ask once, and a directory that hangs holds one thread.
#pragma once

#include "exec/account.hpp"
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

// Used on its loop only, which must outlive it.
class user_directory {
public:
    using answer = boost::system::result<exec::account, std::string>;

    explicit user_directory(net::loop& where);

    // As exec::find_account.
    boost::asio::awaitable<answer> find(std::string user, std::string group) const;

private:
    struct state;
    // Shared with the coroutines that wait for an answer.
    std::shared_ptr<state> state_;
};

}  // namespace pawl::agent
