// A file descriptor that is owned.
#pragma once

#include "base/descriptor.hpp"

namespace pawl::exec {

using base::descriptor;

}  // namespace pawl::exec
