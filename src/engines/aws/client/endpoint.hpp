// Where a service of AWS is asked.
#pragma once

#include <string>
#include <string_view>

namespace pawl::aws {

// https://SERVICE.REGION.amazonaws.com, or where the partition of the region has it.
std::string endpoint_of(std::string_view service, std::string_view region);

// Letters, digits and hyphens, such as eu-central-1.
bool is_region(std::string_view text);

}  // namespace pawl::aws
