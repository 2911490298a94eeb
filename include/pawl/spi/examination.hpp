// What lease_store::examine() answers; it is public, in <pawl/examination.hpp>.
#pragma once

#include <pawl/examination.hpp>
