#include "cli/output/checked_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

namespace pawl::cli {

template <class Do>
auto checked_output::passing::watch(Do what) {
    errno = 0;
    const auto [answer, good] = what();
    if (!good && fault_ == 0) fault_ = errno == 0 ? EIO : errno;
    return answer;
}

checked_output::passing::int_type checked_output::passing::overflow(int_type letter) {
    if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
    return watch([&] {
        const auto put = inner_.sputc(traits_type::to_char_type(letter));
        return std::pair{put, !traits_type::eq_int_type(put, traits_type::eof())};
    });
}

std::streamsize checked_output::passing::xsputn(const char* text, std::streamsize size) {
    return watch([&] {
        const auto put = inner_.sputn(text, size);
        return std::pair{put, put == size};
    });
}

int checked_output::passing::sync() {
    return watch([&] {
        const int answer = inner_.pubsync();
        return std::pair{answer, answer == 0};
    });
}

checked_output::checked_output(std::ostream& stream)
    : stream_{stream}, before_{stream.rdbuf()}, through_{*before_} {
    stream_.rdbuf(&through_);
}

checked_output::~checked_output() { stream_.rdbuf(before_); }

int checked_output::end(int code) {
    stream_.flush();
    const int fault = through_.fault();
    // A command that noticed has said so itself.
    if (fault == 0 || fault == EPIPE || code == static_cast<int>(status::io_error)) return code;
    std::cerr << "pawl: cannot write to standard output: " << std::strerror(fault)
              << "; what was to be printed is lost or cut off\n";
    return code == 0 ? static_cast<int>(status::io_error) : code;
}

void keep_standard_descriptors() {
    // The lowest number that is free is taken first.
    for (const int one : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(one, F_GETFD) == -1 && errno == EBADF)
            static_cast<void>(::open("/dev/null", one == STDERR_FILENO ? O_RDWR : O_RDONLY));
}

}  // namespace pawl::cli
