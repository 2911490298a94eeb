// The text of elements in the small, regular XML that storage services answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::base {

// Of the first element of this name, with its entities replaced; empty where there is none.
std::string text_in(std::string_view xml, std::string_view element);

// What is between the tags of each element of this name, as it stands. They must not nest.
std::vector<std::string_view> elements_in(std::string_view xml, std::string_view element);

}  // namespace pawl::base
