#include "config/regular_file.hpp"

#include "config/size.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

namespace pawl::config {
namespace {

// O_NONBLOCK: opening a pipe must not wait for a process that writes.
constexpr int to_read = O_RDONLY | O_NONBLOCK | O_NOCTTY;
// As many as the kernel follows.
constexpr int links_max = 40;

class open_file {
public:
    open_file(int folder, const std::string& path, int flags)
        : descriptor_{::openat(folder, path.c_str(), flags | O_CLOEXEC)} {}
    ~open_file() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    open_file(open_file&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
    open_file& operator=(open_file&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }

    int get() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

std::string reason(int error) {
    return "cannot be read: " + std::generic_category().message(error);
}

bool is_one_of(const std::vector<uid_t>& owners, uid_t who) {
    return std::find(owners.begin(), owners.end(), who) != owners.end();
}

std::string foreign(uid_t who) {
    return "belongs to the user with ID " + std::to_string(who) +
           "; expected root, the user who reads it, or the owner of the configuration or its "
           "folder";
}

// The first name of a path, and takes it away; empty at its end.
std::string next_name(std::string& path) {
    path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
    auto name = path.substr(0, path.find('/'));
    path.erase(0, name.size());
    return name;
}

// Step by step, so that no step becomes another after it was looked at.
file_text open_by_steps(const std::vector<uid_t>& owners, const std::string& base, std::string path,
                        open_file& file) {
    file_text got;
    const auto start = [&](const std::string& of) {
        return open_file{AT_FDCWD, of.starts_with('/') ? "/" : base, O_PATH | O_DIRECTORY};
    };
    auto folder = start(path);
    int links = 0;
    for (auto name = next_name(path); !name.empty(); name = next_name(path)) {
        const bool is_last = path.find_first_not_of('/') == std::string::npos;
        // O_PATH alone mounts nothing where the folder is an automount point.
        open_file step{folder.get(), name, O_PATH | O_NOFOLLOW | (is_last ? 0 : O_DIRECTORY)};
        // A link, or a file, of which the next step tells.
        if (step.get() < 0 && !is_last && errno == ENOTDIR)
            step = open_file{folder.get(), name, O_PATH | O_NOFOLLOW};
        struct stat about{};
        if (step.get() < 0 || fstat(step.get(), &about) != 0) {
            got.fault = reason(errno);
            return got;
        }
        if (S_ISLNK(about.st_mode)) {
            std::array<char, PATH_MAX> target{};
            const auto size = readlinkat(step.get(), "", target.data(), target.size());
            if (size < 0 || ++links > links_max)
                got.fault = reason(size < 0 ? errno : ELOOP);
            else if (!is_one_of(owners, about.st_uid))
                got.fault = "is reached by a symbolic link, which " + foreign(about.st_uid);
            if (!got.fault.empty()) return got;
            path.insert(0, std::string{target.data(), static_cast<std::size_t>(size)} + '/');
            if (path.starts_with('/')) folder = start(path);
        } else if (is_last) {
            file = open_file{folder.get(), name, to_read | O_NOFOLLOW};
            if (file.get() < 0) got.fault = reason(errno);
            return got;
        } else {
            folder = std::move(step);
        }
    }
    got.fault = "is not a regular file";
    return got;
}

file_text read_open(const open_file& file, const std::vector<uid_t>* owners,
                    std::size_t bytes_max) {
    file_text got;
    struct stat about{};
    if (file.get() < 0 || fstat(file.get(), &about) != 0) {
        got.fault = reason(errno);
        return got;
    }
    if (!S_ISREG(about.st_mode)) {
        got.fault = "is not a regular file";
        return got;
    }
    if (owners != nullptr && !is_one_of(*owners, about.st_uid)) {
        got.fault = foreign(about.st_uid);
        return got;
    }
    got.readable_by_all = (about.st_mode & S_IROTH) != 0;
    // One byte more than allowed shows that there is more.
    got.text.resize(bytes_max + 1);
    std::size_t size = 0;
    while (size < got.text.size()) {
        const auto count = ::read(file.get(), got.text.data() + size, got.text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) got.fault = reason(errno);
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

}  // namespace

file_text read_regular_file(const std::string& path, std::size_t bytes_max) {
    return read_open(open_file{AT_FDCWD, path, to_read}, nullptr, bytes_max);
}

file_text read_file_of(const std::vector<uid_t>& owners, const std::string& base,
                       const std::string& path, std::size_t bytes_max) {
    open_file file{AT_FDCWD, "", to_read};
    auto got = open_by_steps(owners, base, path, file);
    return got.fault.empty() ? read_open(file, &owners, bytes_max) : got;
}

}  // namespace pawl::config
