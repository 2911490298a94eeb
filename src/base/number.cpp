#include "base/number.hpp"

namespace pawl::base {

std::string padded(std::uint64_t value, std::size_t digits) {
    std::string text(digits, '0');
    for (auto digit = text.rbegin(); digit != text.rend() && value > 0; ++digit, value /= 10)
        *digit = static_cast<char>('0' + value % 10);
    return text;
}

}  // namespace pawl::base
