#include "lease/turn_order.hpp"

#include <algorithm>

namespace pawl::leasing {

bool turn_order::seen(std::size_t owner, fence_token under) {
    if (under == last_) return false;
    last_ = under;
    return take_turn(owner == me ? owner + 1 : owner);
}

std::vector<turn_order::contender>::const_iterator turn_order::my_place() const {
    return std::ranges::find_if(order_, [](const contender& one) { return one.owner == me; });
}

bool turn_order::has_had_it() const { return my_place() != order_.end(); }

std::size_t turn_order::before_me() const {
    return has_had_it() ? static_cast<std::size_t>(my_place() - order_.begin()) : 0;
}

bool turn_order::take_turn(std::size_t owner) {
    auto taker =
        std::ranges::find_if(order_, [owner](const contender& one) { return one.owner == owner; });
    const bool is_new = taker == order_.end();
    if (!is_new) {
        std::for_each(order_.begin(), taker, [](contender& one) { ++one.passed; });
        order_.erase(taker);
    }
    std::erase_if(order_,
                  [](const contender& one) { return one.owner != me && one.passed > passed_max; });
    if (order_.size() == known_max) order_.erase(order_.begin());
    order_.push_back({owner, 0});
    return is_new;
}

}  // namespace pawl::leasing
