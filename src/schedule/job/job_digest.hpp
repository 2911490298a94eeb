// Which jobs a node has, in one word: only nodes with the same jobs leave occurrences to each
// other.
//
// It travels behind the version that a node tells the registry, as that of its zones does.
#pragma once

#include <string>
#include <string_view>

namespace pawl::schedule {

class job_table;

// Of what comes due, when and under which keys. Nodes of different builds agree about it.
std::string digest_of(const job_table& jobs);

// "1.2.3" becomes "1.2.3+jobs.0123456789abcdef".
std::string with_jobs(std::string version, std::string_view digest);
struct version_with_jobs {
    std::string version;  // without the digest
    std::string jobs;     // empty where it says nothing of them
};
version_with_jobs split_jobs(std::string_view text);

}  // namespace pawl::schedule
