// The store as a simulated node has it: at the other end of a network that delays, loses, repeats,
// reorders and cuts, with what is planted on the way.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <memory>

namespace pawl::simulation {

class node;

// For this life of the node. On the node's loop only.
std::shared_ptr<lease_store> make_remote_store(node& home);

}  // namespace pawl::simulation
