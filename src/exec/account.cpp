#include "exec/account.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <vector>

namespace pawl::exec {
namespace {

template <class T>
using answer = boost::system::result<T, account_fault>;

constexpr std::size_t entry_bytes_first = std::size_t{16} * 1024;
constexpr std::size_t entry_bytes_max = 16u << 20;  // a group with all the people of a company
constexpr std::size_t groups_max = 65536;           // the kernel's NGROUPS_MAX

// Whatever getpwnam_r(3) and its kin may say instead of an empty answer.
bool means_absent(int error) {
    return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

// `ask` is one of getpwnam_r and its kin, with the name or number bound. The entry's texts live in
// `room`. Nothing when there is no such entry; an error when the directory did not answer.
template <class Entry, class Ask>
answer<std::optional<Entry>> look_up(std::vector<char>& room, const Ask& ask) {
    room.resize(entry_bytes_first);
    for (;;) {
        Entry entry{};
        Entry* found = nullptr;
        const int error = ask(&entry, room.data(), room.size(), &found);
        if (error == EINTR) continue;
        if (error == ERANGE && room.size() < entry_bytes_max) {
            room.resize(room.size() * 4);
            continue;
        }
        if (error == 0 && found != nullptr) return std::optional<Entry>{entry};
        if (means_absent(error)) return std::optional<Entry>{};
        return account_fault{"the directory of users and groups did not answer: " +
                                 std::generic_category().message(error),
                             false};
    }
}

answer<std::optional<passwd>> entry_of(const std::string& user, std::vector<char>& room) {
    const auto by_number = [&](uid_t number) {
        return look_up<passwd>(room,
                               [=](passwd* entry, char* text, std::size_t size, passwd** found) {
                                   return getpwuid_r(number, entry, text, size, found);
                               });
    };
    if (user.empty()) return by_number(geteuid());
    auto named =
        look_up<passwd>(room, [&](passwd* entry, char* text, std::size_t size, passwd** found) {
            return getpwnam_r(user.c_str(), entry, text, size, found);
        });
    const auto number = base::parse_number<std::uint32_t>(user);
    if (named.has_error() || *named || !number) return named;
    return by_number(*number);
}

answer<gid_t> number_of_group(const std::string& name) {
    std::vector<char> room;
    auto found =
        look_up<group>(room, [&](group* entry, char* text, std::size_t size, group** result) {
            return getgrnam_r(name.c_str(), entry, text, size, result);
        });
    if (found.has_error()) return found.error();
    if (*found) return (*found)->gr_gid;
    const auto number = base::parse_number<std::uint32_t>(name);
    if (number) {
        found =
            look_up<group>(room, [&](group* entry, char* text, std::size_t size, group** result) {
                return getgrgid_r(*number, entry, text, size, result);
            });
        if (found.has_error()) return found.error();
        if (*found) return (*found)->gr_gid;
    }
    return account_fault{"there is no group '" + base::printable(name) + "' on this machine"};
}

answer<std::vector<gid_t>> groups_of(const std::string& user, gid_t primary) {
    std::vector<gid_t> all(64);
    for (;;) {
        int count = static_cast<int>(all.size());
        const int outcome = getgrouplist(user.c_str(), primary, all.data(), &count);
        const auto wanted = static_cast<std::size_t>(std::max(count, 0));
        if (outcome >= 0) {
            all.resize(wanted);
            return all;
        }
        if (wanted <= all.size() || wanted > groups_max)
            return account_fault{"the groups of '" + base::printable(user) + "' cannot be read"};
        all.resize(wanted);
    }
}

account nameless(uid_t user) {
    account mine;
    mine.who.user = user;
    mine.who.group = getegid();
    mine.who.groups = {getegid()};
    mine.name = std::to_string(user);
    mine.home = "/";
    mine.shell = "/bin/sh";
    return mine;
}

}  // namespace

answer<account> find_account(const std::string& user, const std::string& group) {
    std::vector<char> room;
    const auto entry = entry_of(user, room);
    if (entry.has_error()) return entry.error();
    if (!*entry && !user.empty())
        return account_fault{"there is no user '" + base::printable(user) + "' on this machine"};
    account found;
    if (*entry) {
        found.who.user = (*entry)->pw_uid;
        found.who.group = (*entry)->pw_gid;
        found.name = (*entry)->pw_name;
        found.home = (*entry)->pw_dir;
        found.shell = (*entry)->pw_shell;
        if (found.shell.empty()) found.shell = "/bin/sh";  // as passwd(5) says
    } else {
        found = nameless(geteuid());
    }
    if (!group.empty()) {
        const auto number = number_of_group(group);
        if (number.has_error()) return number.error();
        found.who.group = *number;
    }
    if (!*entry) return found;
    auto groups = groups_of(found.name, found.who.group);
    if (groups.has_error()) return groups.error();
    found.who.groups = std::move(*groups);
    return found;
}

}  // namespace pawl::exec
