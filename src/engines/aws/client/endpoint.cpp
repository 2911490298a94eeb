#include "engines/aws/client/endpoint.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace pawl::aws {

std::string endpoint_of(std::string_view service, std::string_view region) {
    const auto* domain = region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    return "https://" + std::string{service} + "." + std::string{region} + domain;
}

bool is_region(std::string_view text) {
    return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), [](char c) {
        return base::is_alphanumeric(c) || c == '-';
    });
}

}  // namespace pawl::aws
