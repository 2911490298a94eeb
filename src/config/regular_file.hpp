// A file that people write, read at once; it needs no parser.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace pawl::config {

// A file's content, or why there is none.
struct file_text {
    std::string text;
    std::string fault;  // empty when it was read
    bool readable_by_all = false;
};

// Only a regular file of at most `bytes_max`, so that no pipe makes anybody wait.
file_text read_regular_file(const std::string& path, std::size_t bytes_max);

// The same of a file that is, as each symbolic link that leads to it, of one of these users. Root
// reads every file: another user's link could lead it to what is not theirs to know. A relative
// path begins in `base`, whichever user's links lead there.
file_text read_file_of(const std::vector<uid_t>& owners, const std::string& base,
                       const std::string& path, std::size_t bytes_max);

}  // namespace pawl::config
