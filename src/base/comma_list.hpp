// Lists in messages: "a, b, c".
#pragma once

#include <string>
#include <string_view>

namespace pawl::base {

inline void add_to_list(std::string& list, std::string_view one) {
    if (!list.empty()) list.append(", ");
    list.append(one);
}

template <class Range>
std::string comma_list(const Range& of) {
    std::string list;
    for (const auto& one : of) add_to_list(list, one);
    return list;
}

}  // namespace pawl::base
