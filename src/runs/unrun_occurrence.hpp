// An occurrence that counts as done although nothing may have run for it, and nothing will.
#pragma once

#include <pawl/spi/journal.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace pawl::runs {

// Why, where the journal knows of no run: it was marked by a claim that was not answered, or by
// another's; or the store counts it as done as its data are younger.
constexpr std::string_view answer_lost_text =
    "the store did not answer in time, and granted the key to another run meanwhile";
constexpr std::string_view forgotten_text =
    "the store may have lost whether it has run (quarantine)";

// The run that there was, as the journal knows it. Nothing: it knew of none, and has a row now that
// says why, or of one that was left. REQUIRES: `what` has an occurrence.
async<std::optional<run_record>> record_unrun(std::shared_ptr<journal> where, run_start what,
                                              std::string_view why);

}  // namespace pawl::runs
