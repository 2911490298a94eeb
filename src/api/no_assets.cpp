// Stands in for the web UI where it is not built in.
#include "api/assets.hpp"

namespace pawl::ui {

std::span<const asset> assets() noexcept { return {}; }

}  // namespace pawl::ui
