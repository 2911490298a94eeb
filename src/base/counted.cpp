#include "base/counted.hpp"

namespace pawl::base {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
    auto text = std::to_string(count) + ' ';
    if (count == 1) return text.append(one);
    if (!many.empty()) return text.append(many);
    return text.append(one).append("s");
}

}  // namespace pawl::base
