#include "exec/command.hpp"

#include "base/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace pawl::exec {
namespace {

void put_number(std::string& out, std::uint32_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out.append(bytes, sizeof number);
}

void put_wide(std::string& out, std::uint64_t number) {
    put_number(out, static_cast<std::uint32_t>(number));
    put_number(out, static_cast<std::uint32_t>(number >> 32));
}

// Whether there is one, and if so its bits.
void put_optional(std::string& out, std::optional<std::uint32_t> number) {
    put_number(out, number ? 1 : 0);
    if (number) put_number(out, *number);
}

void put_text(std::string& out, std::string_view text) {
    put_number(out, static_cast<std::uint32_t>(text.size()));
    out.append(text);
}

void put_texts(std::string& out, const std::vector<std::string>& texts) {
    put_number(out, static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) put_text(out, text);
}

// Reads what the functions above wrote. Once it has run short it stays so.
class reader {
public:
    explicit reader(std::string_view text) : rest_{text} {}

    std::uint32_t number() {
        std::uint32_t value = 0;
        if (!has(sizeof value)) return 0;
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
        return value;
    }
    std::uint64_t wide() {
        const std::uint64_t low = number();
        return low | std::uint64_t{number()} << 32;
    }
    std::optional<std::uint32_t> optional_number() {
        if (number() == 0) return {};
        return number();
    }
    std::string text() {
        const std::size_t size = number();
        if (!has(size)) return {};
        std::string value{rest_.substr(0, size)};
        rest_.remove_prefix(size);
        return value;
    }
    std::vector<std::string> texts() {
        std::vector<std::string> values;
        const std::uint32_t count = number();
        for (std::uint32_t at = 0; at < count && !short_; ++at) values.push_back(text());
        return values;
    }
    bool complete() const { return !short_ && rest_.empty(); }
    bool ran_short() const { return short_; }

private:
    bool has(std::size_t size) {
        short_ = short_ || rest_.size() < size;
        return !short_;
    }

    std::string_view rest_;
    bool short_ = false;
};

std::string reason(int error) { return std::generic_category().message(error); }

std::string guard_trouble(int error) {
    if (error == ECHILD) return "the process that starts guards is gone";
    if (error == EBUSY) return "the process that starts guards does not answer";
    if (error == ESRCH) return "it was killed, or the system is out of file descriptors";
    return reason(error);
}

}  // namespace

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view own{*entry};
        const std::string_view name = own.substr(0, own.find('='));
        const bool replaced = std::any_of(variables.begin(), variables.end(),
                                          [&](const auto& added) { return added.first == name; });
        if (!replaced) all.emplace_back(own);
    }
    for (const auto& [name, value] : variables)
        all.push_back(std::string{name}.append("=").append(value));
    return all;
}

int spawn_fault::as_shell() const noexcept {
    return where == stage::execute && error == ENOENT ? 127 : 126;
}

bool spawn_fault::came_too_late() const noexcept {
    return where == stage::guard && error == ETIMEDOUT;
}

bool spawn_fault::was_cut_short() const noexcept { return where == stage::guard && error == ETIME; }

bool spawn_fault::may_have_run() const noexcept {
    const bool is_killed = error == EOWNERDEAD || error == ENOTRECOVERABLE;
    return was_cut_short() || (where == stage::guard && is_killed);
}

bool spawn_fault::lacked_resources() const noexcept {
    constexpr std::array missing{EAGAIN, EBUSY,   ECHILD, EFBIG, EMFILE,      ENFILE,
                                 ENOMEM, ENOBUFS, ENOSPC, ESRCH, ETOOMANYREFS};
    constexpr std::array missing_to_execute{EMFILE, ENFILE, ENOMEM};
    const auto is_one_of = [this](const auto& all) {
        return std::find(all.begin(), all.end(), error) != all.end();
    };
    if (where == stage::execute) return is_one_of(missing_to_execute);
    return where == stage::guard && is_one_of(missing);
}

std::string spawn_fault::describe(const command& wanted) const {
    const std::string name =
        "'" + base::printable(wanted.arguments.empty() ? "" : wanted.arguments[0]) + "'";
    const std::string start = "cannot run " + name + ": ";
    // Whether the guard or the kernel noticed first.
    if (error == E2BIG) {
        return start + "its arguments and environment are longer than the system allows";
    }
    const bool privilege = error == EPERM || error == EACCES;
    switch (where) {
        case stage::guard:
            if (came_too_late()) return start + "its deadline had passed before it began";
            if (was_cut_short()) return start + "its deadline passed while it was being started";
            if (may_have_run())
                return "the guard of " + name +
                       (error == ENOTRECOVERABLE ? " did not answer and" : "") +
                       " was killed while it was being started: it may have run";
            return start + "its guard did not start: " + guard_trouble(error);
        case stage::user:
            return start + "cannot become its user: " + reason(error) +
                   (privilege ? "; only root can run a command as another user" : "");
        case stage::killing:
            return start +
                   "its guard could not kill it once it is another user's; give this "
                   "process the capability CAP_KILL";
        case stage::working_directory:
            return start + "cannot enter '" + base::printable(wanted.working_directory) +
                   "': " + reason(error);
        case stage::resource_limits:
            return start + "cannot set its resource limits: " + reason(error) +
                   (privilege ? "; only root can raise a hard limit" : "");
        case stage::priority:
            return start + "cannot set its nice value: " + reason(error) +
                   (privilege ? "; only root can lower it" : "");
        case stage::execute:
            break;
    }
    if (error == EAGAIN) return start + "its user has as many processes as its limit allows";
    if (error != ENOENT) return start + reason(error);
    const bool is_path = name.find('/') != std::string::npos;
    if (!is_path) return start + "not found in PATH";
    const bool exists = access(wanted.arguments[0].c_str(), F_OK) == 0;
    return start + (exists ? "its interpreter does not exist" : "not found");
}

std::string encode(const command& wanted) {
    std::string out;
    put_texts(out, wanted.arguments);
    put_texts(out, wanted.environment);
    put_text(out, wanted.working_directory);
    put_number(out, wanted.place == placement::foreground ? 1 : 0);
    put_number(out, static_cast<std::uint32_t>(wanted.resource_limits.size()));
    for (const resource_limit& one : wanted.resource_limits) {
        put_number(out, static_cast<std::uint32_t>(one.resource));
        put_wide(out, one.soft);
        put_wide(out, one.hard);
    }
    put_optional(out, wanted.file_mask);
    put_optional(
        out, wanted.nice ? std::optional{static_cast<std::uint32_t>(*wanted.nice)} : std::nullopt);
    put_number(out, wanted.user ? 1 : 0);
    if (!wanted.user) return out;
    put_number(out, wanted.user->user);
    put_number(out, wanted.user->group);
    put_number(out, static_cast<std::uint32_t>(wanted.user->groups.size()));
    for (const gid_t group : wanted.user->groups) put_number(out, group);
    return out;
}

std::optional<command> decode(std::string_view text) {
    reader in{text};
    command wanted{in.texts()};
    wanted.environment = in.texts();
    wanted.working_directory = in.text();
    if (in.number() == 1) wanted.place = placement::foreground;
    const std::uint32_t limited = in.number();
    for (std::uint32_t at = 0; at < limited && !in.ran_short(); ++at) {
        resource_limit one;
        one.resource = static_cast<int>(in.number());
        one.soft = in.wide();
        one.hard = in.wide();
        wanted.resource_limits.push_back(one);
    }
    wanted.file_mask = in.optional_number();
    if (const auto nice = in.optional_number()) wanted.nice = static_cast<int>(*nice);
    if (in.number() == 1) {
        wanted.user.emplace();
        wanted.user->user = in.number();
        wanted.user->group = in.number();
        const std::uint32_t count = in.number();
        for (std::uint32_t at = 0; at < count && !in.ran_short(); ++at) {
            wanted.user->groups.push_back(in.number());
        }
    }
    if (!in.complete() || wanted.arguments.empty()) return {};
    return wanted;
}

}  // namespace pawl::exec
