// A store and a journal as a simulated node has them: at the other end of a network that delays,
// loses, repeats and cuts, with what is planted on the way.
#pragma once

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <memory>

namespace pawl::simulation::schedules {

class node;

// For one life of the node, by number. On the node's loop only.
std::shared_ptr<lease_store> make_remote_store(node& home);
std::shared_ptr<journal> make_remote_journal(node& home);

}  // namespace pawl::simulation::schedules
