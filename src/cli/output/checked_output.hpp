// Whether what a command printed has arrived: looked at once, when the command is over, so that no
// command has to. A token that is shown once and went to a full disk is no success.
#pragma once

#include "cli/output/status.hpp"

#include <ostream>
#include <streambuf>

namespace pawl::cli {

// Passes on what is written, and keeps why it first failed: later calls overwrite errno.
class checked_output {
public:
    // As long as it lives, `stream` writes through it.
    explicit checked_output(std::ostream& stream);
    ~checked_output();
    checked_output(const checked_output&) = delete;
    checked_output& operator=(const checked_output&) = delete;

    // Flushes. `code`, with a line on stderr where output was lost, and then io_error instead of 0.
    // A reader that went away, such as head(1), has what it wanted.
    int end(int code);

private:
    class passing : public std::streambuf {
    public:
        explicit passing(std::streambuf& inner) : inner_{inner} {}
        int fault() const noexcept { return fault_; }

    protected:
        int_type overflow(int_type letter) override;
        std::streamsize xsputn(const char* text, std::streamsize size) override;
        int sync() override;

    private:
        template <class Do>
        auto watch(Do what);

        std::streambuf& inner_;
        int fault_ = 0;  // errno of the first failure
    };

    std::ostream& stream_;
    std::streambuf* before_;
    passing through_;
};

// Opens those of 0, 1 and 2 that the caller closed: a socket or a database would get the number,
// and what is printed. What is written to such a 1 fails, as it would have.
void keep_standard_descriptors();

}  // namespace pawl::cli
