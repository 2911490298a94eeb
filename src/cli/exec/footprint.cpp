#include "cli/exec/footprint.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "net/timer.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>

namespace pawl::cli {
namespace {

struct mapping {
    std::uintptr_t begin = 0, end = 0;
    bool only_read = false;  // of a file, and never for writing
    bool has_own_pages =
        true;  // which nothing would bring back, such as what the linker has relocated
};

// Such as "7f0c1e000000-7f0c1e026000 r--p 00000000 fe:00 1234  /lib/x86_64-linux-gnu/libc.so.6".
mapping read_head(std::string_view line) {
    const auto dash = line.find('-');
    const auto blank = line.find(' ');
    if (dash == std::string_view::npos || blank == std::string_view::npos || dash > blank)
        return {};
    const auto begin = base::parse_number<std::uint64_t>(line.substr(0, dash), 16);
    const auto end = base::parse_number<std::uint64_t>(line.substr(dash + 1, blank - dash - 1), 16);
    if (!begin || !end) return {};
    const auto may = line.substr(blank + 1, 4);
    return {*begin, *end,
            may[0] == 'r' && may[1] == '-' && line.find('/') != std::string_view::npos, true};
}

void give_back(const mapping& what) {
    if (!what.only_read || what.has_own_pages) return;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): /proc has addresses as text
    madvise(reinterpret_cast<void*>(what.begin), what.end - what.begin, MADV_DONTNEED);
}

}  // namespace

void give_text_back() noexcept {
    try {
        malloc_trim(0);
        std::ifstream file{"/proc/self/smaps"};
        mapping current;
        for (std::string line; std::getline(file, line);) {
            if (line.find('-') < line.find(' ')) {
                give_back(current);
                current = read_head(line);
            } else if (line.starts_with("Anonymous:")) {
                current.has_own_pages = line.find(" 0 kB") == std::string::npos;
            }
        }
        give_back(current);
    } catch (const std::exception&) {
        // It was an economy, and nothing depends on it.
    }
}

boost::asio::awaitable<void> give_text_back_later() {
    co_await net::sleep_for(std::chrono::seconds{1});
    give_text_back();
}

}  // namespace pawl::cli
