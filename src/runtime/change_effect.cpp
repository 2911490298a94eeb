#include "runtime/change_effect.hpp"

namespace pawl::runtime {

async<change_effect> make_change(std::function<async<bool>()> ask) {
    auto asking = ask();
    const auto first = co_await std::move(asking);
    if (first.has_value()) co_return *first ? change_effect::made : change_effect::none;
    if (first.error().code != errc::outcome_unknown) co_return first.error();
    auto asking_again = ask();
    const auto second = co_await std::move(asking_again);
    if (second.has_error()) co_return change_effect::unknown;
    co_return *second ? change_effect::made : change_effect::settled;
}

}  // namespace pawl::runtime
