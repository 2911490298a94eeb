#include <pawl/locks.hpp>

#include "assembly/engines.hpp"

namespace pawl {

locks locks::open(std::string_view url, open_options options) {
    if (options.journal != "none") {
        const auto journal = options.journal;
        return locks{assembly::open_core(url, journal, std::move(options))};
    }
    auto plan = assembly::plan_store(url);
    return locks{
        std::make_unique<runtime::core>(plan.make, std::move(plan.settings), std::move(options))};
}

}  // namespace pawl
