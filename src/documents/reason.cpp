#include "documents/reason.hpp"

#include "base/terminal_text.hpp"

#include <pawl/spi/journal.hpp>

namespace pawl::documents {

std::optional<std::string> reason_fault(std::string_view reason) {
    if (reason.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return "reason is empty; say why, for the audit";
    if (reason.size() > reason_bytes_max)
        return "reason has " + std::to_string(reason.size()) + " bytes; at most " +
               std::to_string(reason_bytes_max) + " are kept";
    if (const auto bad = base::find_unprintable(reason); bad != std::string_view::npos)
        return "reason has a control character at byte " + std::to_string(bad + 1) +
               "; write it as one line";
    return std::nullopt;
}

}  // namespace pawl::documents
