// The journal in a store of records with versions: for engines whose store stands on ../store.
//
// One record is the truth about a run, and each verb's atomic step is one compare-and-swap of it.
// Where it is follows from what must be unique: the occurrence of a job and partition, or the id of
// a run without one. A trigger stands under the id of its run, so that to answer it, to remove it
// and to add it again are writes of one record, of which one wins.
//
// Everything else is written before the truth refers to it, and counts only as far as it does:
//
// - Indexes (all runs, those of a job, those that are active, cancels, orphans, triggers) are
// hints.
//   They are there before the truth asks for them, so that no run is missed, and are compared with
//   it when they are read, so that none is shown that is not there. What a lost process has left is
//   removed when it is met and old: hint_ages_in is longer than any verb takes.
// - Output, long histories and large checkpoints have records of their own. The bytes at one place
//   of one attempt's output, and the events of one page, are always the same, so that two who write
//   them write the same.
// - What a job saved last is offered first, in its record beside what was saved before, and holds
//   once the run's truth has taken it. Who finds an offer that was not taken makes sure that it
//   never will be, by a new version of that run.
//
// Times are the store's (store_clock.hpp), by the lower of the clock's two bounds, and never go
// back within one run; a run counts as stale by so much later as the bounds are apart.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/store_settings.hpp>

#include <memory>

namespace pawl::cas {

// Opens nothing yet: the first verb prepares the medium. REQUIRES: settings.name_space is valid.
std::shared_ptr<journal> make_cas_journal(net::loop& where, const store_settings& settings,
                                          std::shared_ptr<medium> on);

}  // namespace pawl::cas
