#include "cli/commands/checkpoint_text.hpp"

#include "cli/output/status.hpp"

#include <pawl/spi/journal.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace pawl::cli {

std::string read_checkpoint(int descriptor) {
    // One byte too many, behind which there may be a line end.
    std::string text(checkpoint_bytes_max + 2, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const auto got = ::read(descriptor, text.data() + size, text.size() - size);
        if (got == 0) break;
        if (got > 0) {
            size += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            throw exit_error{status::io_error, std::string{"cannot read standard input: "} +
                                                   std::strerror(errno) + "; nothing was saved"};
        }
    }
    if (size == 0)
        throw exit_error{status::usage,
                         "nothing came on standard input, and nothing was saved; 'pawl checkpoint "
                         "\"\"' saves an empty one"};
    text.resize(size);
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace pawl::cli
