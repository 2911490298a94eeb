// Rule 15 over a majority: one atomic check-and-remember per resource.
//
// The highest accepted token is a register that all nodes hold. Each check is one step of it,
// decided by two rounds under a ballot (the scheme of CASPaxos): a majority promises the ballot and
// tells what it accepted last; what has the highest ballot among that is the state; the check is
// made on it; and what follows is accepted by a majority, unless a later ballot has come between.
// Any two majorities share a node, so a check that was accepted is seen by each that begins later:
// an older token is then rejected by every majority. Rejections are written back as well, so that
// no writer is rejected because of a token that a later check does not see.
//
// A node that lost its data has forgotten what it accepted, so under a quarantine it has no say
// about tokens that were minted before its data was born: a majority of those that remember must
// judge.
#pragma once

#include "engines/redlock/store/quorum.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/lease_store.hpp>

#include <memory>
#include <string>

namespace pawl::redlock {

async<fence_result> check_fence(std::shared_ptr<quorum> among, std::string resource,
                                fence_token token, fence_rule rule);

}  // namespace pawl::redlock
