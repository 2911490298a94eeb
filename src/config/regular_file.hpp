// A file that people write, read at once; it needs no parser.
#pragma once

#include <cstddef>
#include <string>

namespace pawl::config {

// A file's content, or why there is none.
struct file_text {
    std::string text;
    std::string fault;  // empty when it was read
    bool readable_by_all = false;
};

// Only a regular file of at most `bytes_max`, so that no pipe makes anybody wait.
file_text read_regular_file(const std::string& path, std::size_t bytes_max);

}  // namespace pawl::config
