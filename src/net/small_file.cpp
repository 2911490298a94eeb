#include "net/small_file.hpp"

#include <fstream>
#include <utility>

namespace pawl::net {
namespace {

constexpr std::size_t file_max = std::size_t{1} << 20;

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (path.empty() || !file) return std::nullopt;
    std::string text;
    text.resize(file_max);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

}  // namespace

boost::asio::awaitable<std::optional<std::string>> read_small_file(loop& where, std::string path) {
    auto reading = where.run_blocking([path] { return read_file(path); });
    co_return co_await std::move(reading);
}

std::string without_line_ends(std::string_view text) {
    const auto last = text.find_last_not_of(" \t\r\n");
    return std::string{text.substr(0, last == std::string_view::npos ? 0 : last + 1)};
}

}  // namespace pawl::net
