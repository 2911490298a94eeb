// Which keys have a record and were free when this process claimed them last: the next claim of one
// is worth a statement that grants and does nothing else.
#pragma once

#include <bitset>
#include <functional>
#include <string_view>

namespace pawl::postgresql {

// A hint of bounded size: keys share bits, and other processes change records.
class known_keys {
public:
    bool has(std::string_view key) const { return bits_.test(bit_of(key)); }
    void add(std::string_view key) { bits_.set(bit_of(key)); }
    void remove(std::string_view key) { bits_.reset(bit_of(key)); }

private:
    static constexpr std::size_t bits = std::size_t{64} * 1024;

    static std::size_t bit_of(std::string_view key) {
        return std::hash<std::string_view>{}(key) % bits;
    }

    std::bitset<bits> bits_;
};

}  // namespace pawl::postgresql
