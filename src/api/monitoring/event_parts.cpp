#include "api/monitoring/event_parts.hpp"

namespace pawl::api {

void event_parts::add(std::string_view entry) {
    bytes_ += entry.size();
    if (bytes_ > told_bytes_max) miss();
    if (too_much_) return;
    if (all_.empty() || all_.back().size() >= event_bytes_max) all_.emplace_back();
    auto& last = all_.back();
    if (!last.empty()) last += ',';
    last += entry;
}

void event_parts::miss() {
    too_much_ = true;
    std::vector<std::string>{}.swap(all_);
}

}  // namespace pawl::api
