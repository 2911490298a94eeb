#include "cli/commands/checkpoint_text.hpp"

#include <pawl/spi/journal.hpp>

#include <cstddef>

namespace pawl::cli {

std::string read_checkpoint(std::istream& from) {
    // One byte too many, behind which there may be a line end.
    std::string text(checkpoint_bytes_max + 2, '\0');
    from.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(from.gcount()));
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace pawl::cli
