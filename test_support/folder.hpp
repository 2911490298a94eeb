// A folder on the disk that goes with the test that uses it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace pawl::testing_files {

class test_folder {
public:
    test_folder() {
        auto name = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder: " + name};
        path_ = name;
    }
    ~test_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    test_folder(const test_folder&) = delete;
    test_folder& operator=(const test_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }
    // The path of a file in it.
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    // The same, once this text is in it.
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{path_ / name, std::ios::binary} << text;
        return *this / name;
    }

private:
    std::filesystem::path path_;
};

}  // namespace pawl::testing_files
