#include "engines/redis/store/pages.hpp"

#include <utility>

namespace pawl::redis {

bool merge_pages(std::vector<page>& read, std::size_t limit, page& merged) {
    for (;;) {
        page* smallest = nullptr;
        for (auto& one : read) {
            if (one.records.empty()) {
                if (!one.next.empty()) return false;
                continue;
            }
            if (smallest == nullptr || one.records.back().key < smallest->records.back().key)
                smallest = &one;
        }
        if (smallest == nullptr) return true;
        if (merged.records.size() == limit) {
            merged.next = merged.records.back().key;
            return true;
        }
        merged.records.push_back(std::move(smallest->records.back()));
        smallest->records.pop_back();
    }
}

}  // namespace pawl::redis
