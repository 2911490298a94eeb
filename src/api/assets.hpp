// The files of the web UI as they are built into the binary: tools/build_ui makes the table.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace pawl::ui {

struct asset {
    std::string_view path;  // as a URL has it: /main-AB12CD34.js
    std::string_view type;
    std::string_view etag;             // without its quotes
    bool immutable = false;            // its name changes with what is in it
    std::span<const std::byte> plain;  // for the few that take no gzip
    std::span<const std::byte> gzip;   // empty where it would not be smaller
};

// By path. None where pawl was built without its page (PAWL_UI=OFF).
std::span<const asset> assets() noexcept;

}  // namespace pawl::ui
