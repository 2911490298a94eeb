#include <pawl/spi/journal.hpp>

#include <array>

namespace pawl {
namespace {

constexpr std::array<std::string_view, 8> words{"started", "completed", "failed",    "cancelled",
                                                "lost",    "timed_out", "abandoned", "skipped"};

}  // namespace

std::string_view name_of(run_status status) noexcept {
    return words[static_cast<std::size_t>(status)];
}

std::optional<run_status> run_status_named(std::string_view word) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i] == word) return static_cast<run_status>(i);
    return std::nullopt;
}

}  // namespace pawl
