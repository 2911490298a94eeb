// The reason that a person gives for an action, as the audit keeps it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::documents {

// Why it is none: blank, too long, or not one line of text.
std::optional<std::string> reason_fault(std::string_view reason);

}  // namespace pawl::documents
