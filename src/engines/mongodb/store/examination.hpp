// What answers at the URI: a replica set's primary, or a server that stands alone; and what it says
// of the collection.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "engines/mongodb/client/client.hpp"

#include <optional>
#include <string>

namespace pawl::mongodb {

enum class topology { unknown, standalone, replica_set };

struct deployment {
    topology is = topology::unknown;
    std::string set;  // the replica set's name
    std::size_t members = 0;
};

// A failure where no leases can be kept there.
result<deployment> judge(const std::string& place, const greeting& hello);

// Nothing where it says no time.
std::optional<cas::stamp> stamp_of(const greeting& hello);

// How long a grant is remembered there.
finding judge_durability(const deployment& where);
// Of the indexes of the collection.
finding judge_indexes(const std::vector<document>& indexes);

}  // namespace pawl::mongodb
