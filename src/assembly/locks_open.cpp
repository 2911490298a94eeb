#include <pawl/locks.hpp>

#include "assembly/engines.hpp"

namespace pawl {

locks locks::open(std::string_view url, open_options options) {
    const auto journal = options.journal;
    return locks{assembly::open_core(url, journal, std::move(options))};
}

}  // namespace pawl
