// What every journal is asked through, whichever engine keeps it.
//
// What can never be right is rejected, texts for people are made one line, pages are brought within
// their bounds, and an engine lives until the last of its verbs has ended. So an engine does none
// of that: it is given only what <pawl/spi/journal.hpp> allows.
#pragma once

#include <pawl/spi/journal.hpp>

#include <memory>

namespace pawl::journals {

// Where nothing is left to ask about (no jobs to publish, no runs to beat for), it does not ask.
std::shared_ptr<journal> checked(std::shared_ptr<journal> engine);

}  // namespace pawl::journals
