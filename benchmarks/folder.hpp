// A folder on the disk that tests use, and that goes when it is no longer needed.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include <stdlib.h>

namespace pawl::benchmarks {

class folder {
public:
    folder() {
        auto pattern = (std::filesystem::temp_directory_path() / "pawl-bench-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error{"cannot make a temporary folder"};
        path_ = pattern;
    }
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

}  // namespace pawl::benchmarks
