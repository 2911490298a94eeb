// Who a command can run as: what the system's directory of users says.
#pragma once

#include "exec/command.hpp"

#include <boost/system/result.hpp>

#include <string>

namespace pawl::exec {

struct account {
    identity who;
    std::string name;
    std::string home;
    std::string shell;
};

struct account_fault {
    std::string what;  // one line
    // False: the directory did not say. It may later, or on another machine.
    bool answered = true;
};

// By names, or by the numbers of users and groups that the directory knows. No user: the one that
// this process runs as, which need not be in the directory; no group: the user's own. Blocks: the
// directory may be on the network (NSS).
boost::system::result<account, account_fault> find_account(const std::string& user,
                                                           const std::string& group);

}  // namespace pawl::exec
