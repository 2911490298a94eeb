#include "base/duration.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"

namespace pawl::documents {
namespace {

// People wait whole seconds. Rounded up: what is said to be free then, is.
millis rounded(millis left) {
    if (left < millis{1'000}) return left;
    return std::chrono::ceil<std::chrono::seconds>(left);
}

}  // namespace

std::string text_of(const busy& other, std::string_view key) {
    const auto name = "'" + base::printable(key) + "'";
    const auto left = base::format_duration(rounded(other.remaining));
    switch (other.reason) {
        case busy_reason::held:
            return "lock " + name + " is held by " + base::printable(other.owner) + " (token " +
                   std::to_string(number(other.holder)) + "), expires in " + left;
        case busy_reason::cooldown:
            return "lock " + name + " in cooldown, available in " + left;
        case busy_reason::quarantined:
            return "lock " + name +
                   " not granted: the store may have lost its data and is in quarantine for "
                   "another " +
                   left;
        case busy_reason::early:
            return "lock " + name +
                   " not granted: the occurrence is too far ahead of the store's clock; try again "
                   "in " +
                   left;
    }
    return "lock " + name + " is busy";
}

std::string text_of_slots(const busy& other, std::string_view name, std::uint32_t count) {
    if (other.reason != busy_reason::held) return text_of(other, name);
    return "all " + std::to_string(count) + " slots of '" + base::printable(name) + "' are held";
}

}  // namespace pawl::documents
