// The settings that an engine reads from its URL; they are public, in <pawl/store.hpp>.
#pragma once

#include <pawl/store.hpp>
