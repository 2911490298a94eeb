// Configuration files: whatever they say, every fault is one printable line with a place in the
// file, and what is accepted is the same when it is read again.
#include "config/reading.hpp"

#include <algorithm>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace pawl::config;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto read = read_configuration(text, "f");
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    if (read.usable() != read.faults.empty() || read.fault_count < read.faults.size()) std::abort();
    for (const fault& one : read.faults)
        if (one.at.line < 1 || one.at.line > lines || one.at.column < 1 ||
            one.at.column > size + 2 || one.what.empty())
            std::abort();
    for (const std::string& line : describe(read, faults_kept_max))
        if (line.find_first_of(std::string_view{"\n\r\0", 3}) != std::string::npos ||
            line.size() > 1000)
            std::abort();
    if (!read.usable()) return 0;
    const auto again = read_configuration(text, "f");
    if (again.values != read.values || !differences(read.values, again.values).empty())
        std::abort();
    return 0;
}
