// How many descriptors this process may have open.
#pragma once

#include <sys/resource.h>

namespace pawl::exec {

// As far as its hard limit, for one who needs some for each command. Returns what it was.
rlimit raise_descriptor_limit();

// What raise_descriptor_limit() returned, for the commands.
void give_back_descriptor_limit(const rlimit& before);

}  // namespace pawl::exec
