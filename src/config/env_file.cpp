#include "config/env_file.hpp"

#include "base/ascii.hpp"
#include "config/values.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace pawl::config {
namespace {

class open_file {
public:
    // O_NONBLOCK: opening a pipe must not wait for somebody who writes.
    explicit open_file(const std::string& path)
        : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)} {}
    ~open_file() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    int get() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

std::string reason(int error) { return std::generic_category().message(error); }

std::string_view without_return(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::string_view without_quotes(std::string_view value) {
    const bool quoted = value.size() >= 2 && value.front() == value.back() &&
                        (value.front() == '"' || value.front() == '\'');
    return quoted ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

file_text read_regular_file(const std::string& path, std::size_t bytes_max) {
    file_text got;
    const open_file file{path};
    struct stat about{};
    if (file.get() < 0 || fstat(file.get(), &about) != 0) {
        got.fault = "cannot be read: " + reason(errno);
        return got;
    }
    if (!S_ISREG(about.st_mode)) {
        got.fault = "is no regular file";
        return got;
    }
    got.readable_by_all = (about.st_mode & S_IROTH) != 0;
    // One byte more than allowed shows that there is more.
    got.text.resize(bytes_max + 1);
    std::size_t size = 0;
    while (size < got.text.size()) {
        const auto count = ::read(file.get(), got.text.data() + size, got.text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) got.fault = "cannot be read: " + reason(errno);
        if (count <= 0) break;
        size += static_cast<std::size_t>(count);
    }
    if (size > bytes_max)
        got.fault = "has more than " + format_count(static_cast<std::int64_t>(bytes_max)) +
                    " bytes, which is more than a file of this kind can need";
    got.text.resize(got.fault.empty() ? size : 0);
    got.text.shrink_to_fit();
    return got;
}

env_file_content parse_env_file(std::string_view text) {
    env_file_content got;
    std::map<std::string, std::string> all;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size() && got.fault.empty();) {
        ++number;
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = base::trimmed(without_return(text.substr(at, end - at)));
        at = end + 1;
        if (line.empty() || line.starts_with('#')) continue;
        const auto where = "line " + std::to_string(number) + ": ";
        const auto equals = line.find('=');
        const auto name = base::trimmed(line.substr(0, std::min(equals, line.size())));
        // The line is not quoted: it may be a secret that lacks its name.
        if (equals == std::string_view::npos) {
            got.fault = where + "has no '='; write NAME=value";
        } else if (variable_name_fault(name)) {
            got.fault = where +
                        "no name of a variable stands before the '='; write letters, "
                        "digits and '_', and do not begin with a digit or PAWL_";
        } else if (line.find('\0') != std::string_view::npos) {
            got.fault = where + "has a NUL byte; programs cannot be given one";
        } else {
            all[std::string{name}] = without_quotes(base::trimmed(line.substr(equals + 1)));
        }
        if (all.size() > variables_max)
            got.fault = where + "more than " + format_count(variables_max) + " variables";
    }
    if (got.fault.empty())
        for (auto& [name, value] : all) got.variables.push_back({name, value});
    return got;
}

const env_file_content& env_files::read(const std::string& path) {
    const auto [entry, is_new] = known_.try_emplace(path);
    if (!is_new) return entry->second;
    const bool is_relative = !path.starts_with('/') && !folder_.empty();
    const auto file =
        read_regular_file(is_relative ? folder_ + "/" + path : path, env_file_bytes_max);
    if (file.fault.empty())
        entry->second = parse_env_file(file.text);
    else
        entry->second.fault = file.fault;
    entry->second.readable_by_all = file.readable_by_all;
    return entry->second;
}

}  // namespace pawl::config
