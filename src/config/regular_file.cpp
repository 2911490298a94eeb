#include "config/regular_file.hpp"

#include "config/size.hpp"

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

}  // namespace pawl::config
