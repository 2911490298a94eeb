// A bounded queue that is fair among networks: none of them keeps the others out.
//
// Addresses are cheap: one machine has all of 127/8, and a network of IPv6 hands out 64 bits to
// anybody. So where the line is full, the network that has the most places gives one to a network
// that has fewer.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::api {

// By which an address is counted: of IPv4 /16 and /24, of IPv6 /48 and /64. The loopback is one
// network; what is no address is one of its own.
struct networks {
    std::string wide;
    std::string narrow;
};
networks networks_of(std::string_view address);

template <class Value>
class fair_network_queue {
public:
    explicit fair_network_queue(std::size_t most) : most_{most} {}

    // Puts it at the end. What makes way for it where there is no room: the last of the network
    // with the most places, or the value itself.
    std::optional<Value> push(Value value, networks from) {
        std::optional<Value> out;
        if (entries_.size() >= most_) {
            const auto goes = last_of_largest(from);
            if (goes == entries_.end()) return value;
            out = std::move(goes->value);
            entries_.erase(goes);
        }
        entries_.push_back({std::move(value), std::move(from)});
        return out;
    }

    // REQUIRES: it is not empty.
    Value pop() {
        auto first = std::move(entries_.front().value);
        entries_.pop_front();
        return first;
    }

    bool empty() const noexcept { return entries_.empty(); }
    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry {
        Value value;
        networks from;
    };
    using counts = std::map<std::string_view, std::size_t>;
    using place = typename std::list<entry>::iterator;

    // The network with the most, where one more for `own` would still leave it as many.
    static std::optional<std::string_view> larger_than(const counts& all, std::string_view own) {
        const auto mine = all.find(own);
        auto most = mine == all.end() ? 1 : mine->second + 1;
        std::optional<std::string_view> found;
        for (const auto& [name, count] : all)
            if (count > most) {
                most = count;
                found = name;
            }
        return found;
    }

    counts narrow_in(std::string_view wide) const {
        counts all;
        for (const auto& one : entries_)
            if (one.from.wide == wide) ++all[one.from.narrow];
        return all;
    }

    place last_of_largest(const networks& from) {
        counts wide;
        for (const auto& one : entries_) ++wide[one.from.wide];
        const auto other = larger_than(wide, from.wide);
        const auto narrow = other ? larger_than(narrow_in(*other), "")
                                  : larger_than(narrow_in(from.wide), from.narrow);
        if (!other && !narrow) return entries_.end();
        const auto wanted = other ? *other : std::string_view{from.wide};
        for (auto one = entries_.end(); one != entries_.begin();) {
            --one;
            if (one->from.wide == wanted && (!narrow || one->from.narrow == *narrow)) return one;
        }
        return entries_.end();
    }

    const std::size_t most_;
    std::list<entry> entries_;
};

}  // namespace pawl::api
