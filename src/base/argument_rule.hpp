// Which arguments people may add to a job's command.
//
// An argument can be an option, and an option can be a command (tar --checkpoint-action): none is
// taken that the job's configuration does not allow.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pawl::base {

struct argument_rule {
    bool any = false;
    // Each argument has to match one of them as a whole: *, ? and […] as in `case`, but for "..".
    std::vector<std::string> patterns{};

    bool operator==(const argument_rule&) const = default;
};

// Why these may not be added to the command of the job, in one line; nothing: they may.
std::optional<std::string> argument_fault(const argument_rule& rule, const std::string& job,
                                          const std::vector<std::string>& arguments);

// As a shell would take them, on one line: 'first' 'it'\''s the second'. Of long ones their
// number, a digest and the beginning.
std::string quoted_words(const std::vector<std::string>& words);

}  // namespace pawl::base
