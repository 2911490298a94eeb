// What an examination says of a server's clock that is known by two bounds.
#pragma once

#include <pawl/examination.hpp>

#include <chrono>
#include <string>

namespace pawl::time {

// It lies between the two, since the Unix epoch. `whose` begins the sentence, and `agrees` ends it
// where ours may be the same.
finding check_clock(const std::string& whose, std::chrono::microseconds earliest,
                    std::chrono::microseconds latest, const std::string& agrees);

}  // namespace pawl::time
