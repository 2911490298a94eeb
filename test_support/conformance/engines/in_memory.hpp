// What lives in the memory of this process, for the laws of stores and for those of journals.
#pragma once

#include "test_support/conformance/store_engine.hpp"

#include <string>
#include <string_view>

namespace pawl::conformance {

// The data lives as long as this process, so losing it means to leave for another namespace, which
// the address is part of.
class in_memory {
public:
    static std::string_view name() { return "memory"; }
    static constexpr store_reach reach() { return store_reach::one_process; }
    std::string address() const { return std::to_string(losses_); }
    void restart() {}
    void lose_data() { ++losses_; }

private:
    int losses_ = 0;
};

}  // namespace pawl::conformance
