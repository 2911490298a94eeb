// What the tests of this room share.
#pragma once

#include "config/reading.hpp"

#include <stdlib.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace pawl::config {

// The one fault of a text, as it is shown; empty when there is none.
inline std::string only_fault(const std::string& text) {
    const auto read = read_configuration(text, "f");
    const auto lines = describe(read);
    if (lines.size() > 1) throw std::runtime_error{"several faults: " + lines[0] + lines[1]};
    return lines.empty() ? "" : lines[0];
}

// The settings of a text that has no fault.
inline settings read_whole(const std::string& text) {
    auto read = read_configuration(text, "f");
    if (!read.usable()) throw std::runtime_error{describe(read)[0]};
    return std::move(read.values);
}

// A folder that ends with the test.
class folder {
public:
    folder() {
        std::string pattern = std::filesystem::temp_directory_path() / "pawl-config-XXXXXX";
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp failed"};
        path_ = pattern;
    }
    ~folder() { std::filesystem::remove_all(path_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{path_ / name, std::ios::binary} << text;
        return path_ / name;
    }
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace pawl::config
