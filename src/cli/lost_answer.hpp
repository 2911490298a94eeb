// An occurrence that counts as done where a claim of this process was not answered: it was marked
// by that claim, for which nothing has run, or by another's.
#pragma once

#include <pawl/spi/journal.hpp>

#include <memory>
#include <optional>
#include <string>

namespace pawl::cli {

// Why it has not run, where it has not.
std::string lost_answer_text();

// The run that there was, as the journal knows it. Nothing: it knew of none, and has a row now that
// says so. REQUIRES: `what` has an occurrence.
async<std::optional<run_record>> record_lost_answer(std::shared_ptr<journal> where, run_start what);

}  // namespace pawl::cli
