// An LRU cache with a limit of entries and an idle time after which one expires.
//
// A machine: it is handed instants. Every use begins the idle time anew, so the order of last use
// is the order of expiry as well, and what makes way for a new one is the longest idle.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace pawl::api {

template <class Value>
class lru_cache {
public:
    // REQUIRES: at least one may be kept.
    lru_cache(std::size_t most, millis idle_max) : most_{most}, idle_max_{idle_max} {}

    // A use. Null when there is none, or it has been idle for too long. Valid until the next call.
    Value* use(const std::string& key, instant now) {
        drop_idle(now);
        const auto found = places_.find(key);
        if (found == places_.end()) return nullptr;
        found->second->used = now;
        entries_.splice(entries_.end(), entries_, found->second);
        return &found->second->value;
    }

    // The same, without being a use.
    const Value* find(const std::string& key, instant now) {
        drop_idle(now);
        const auto found = places_.find(key);
        return found == places_.end() ? nullptr : &found->second->value;
    }

    // In place of one of that key.
    void put(const std::string& key, Value value, instant now) {
        drop_idle(now);
        erase(key);
        if (entries_.size() >= most_) erase_front();
        entries_.push_back(entry{key, std::move(value), now});
        places_.emplace(key, std::prev(entries_.end()));
    }

    // Each, the longest idle first.
    template <class Visitor>
    void visit(instant now, Visitor look) {
        drop_idle(now);
        for (const auto& one : entries_) look(one.value);
    }

    bool erase(const std::string& key) {
        const auto found = places_.find(key);
        if (found == places_.end()) return false;
        entries_.erase(found->second);
        places_.erase(found);
        return true;
    }

    // Asked of each, the longest idle first.
    template <class Predicate>
    void erase_if(Predicate is_finished) {
        for (auto one = entries_.begin(); one != entries_.end();) {
            const auto next = std::next(one);
            if (is_finished(one->value)) {
                places_.erase(one->key);
                entries_.erase(one);
            }
            one = next;
        }
    }

    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry {
        std::string key;
        Value value;
        instant used;
    };

    void drop_idle(instant now) {
        while (!entries_.empty() && now - entries_.front().used >= idle_max_) erase_front();
    }
    void erase_front() {
        places_.erase(entries_.front().key);
        entries_.pop_front();
    }

    const std::size_t most_;
    const millis idle_max_;
    std::list<entry> entries_;  // by last use
    std::unordered_map<std::string, typename std::list<entry>::iterator> places_;
};

}  // namespace pawl::api
