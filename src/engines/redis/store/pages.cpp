#include "engines/redis/store/pages.hpp"

#include "base/prefix.hpp"
#include "engines/redis/store/scripts.hpp"

#include <utility>

namespace pawl::redis {

script_call list_call(std::string_view index, std::string_view lock_prefix, std::string_view prefix,
                      std::string_view after, std::size_t limit) {
    script_call call{scripts::all().list, 1};
    call.add(index).add(lock_prefix);
    if (after >= prefix && !after.empty())
        call.add("(", after);
    else
        call.add("[", prefix);
    if (const auto end = base::end_of_prefix(std::string{prefix}))
        call.add("(", *end);
    else
        call.add("+");
    return call.add(static_cast<std::int64_t>(limit));
}

bool read_list(const reply& got,
               const std::function<void(const std::string& key, const std::string& packed,
                                        std::int64_t now_us)>& taker) {
    const auto& parts = got.elements;
    if (parts.size() < 2 || parts.size() % 2 != 0 || !parts[0].is_integer() || !parts[1].is_text())
        return false;
    for (std::size_t i = 2; i < parts.size(); i += 2)
        taker(parts[i].text, parts[i + 1].text, parts[0].number);
    return true;
}

bool merge_pages(std::vector<page>& read, std::size_t limit, page& merged) {
    for (;;) {
        page* smallest = nullptr;
        const std::string* read_to = nullptr;  // by all shards, where one must be read further
        for (auto& one : read) {
            if (one.records.empty()) {
                if (!one.next.empty() && (read_to == nullptr || one.next < *read_to))
                    read_to = &one.next;
                continue;
            }
            if (smallest == nullptr || one.records.back().key < smallest->records.back().key)
                smallest = &one;
        }
        if (read_to != nullptr &&
            (smallest == nullptr || smallest->records.back().key > *read_to)) {
            merged.next = *read_to;
            return false;
        }
        merged.next.clear();
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
