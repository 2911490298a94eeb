#include "engines/cas/journal/journal_keys.hpp"

#include "base/digest.hpp"
#include "base/number.hpp"
#include "base/percent.hpp"

#include <limits>

namespace pawl::cas::keys {
namespace {

constexpr auto highest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::size_t decimal_digits = 20;

bool is_plain(char letter) {
    return letter > ' ' && letter <= '~' && letter != '%' && letter != '/' && letter != ':';
}

std::string word(std::string_view bytes) { return base::percent_encode(bytes, is_plain); }

std::string sixteen(std::uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (auto at = text.rbegin(); at != text.rend(); ++at, number >>= 4) *at = digits[number & 15];
    return text;
}

}  // namespace

std::string run(std::string_view id) {
    return std::string{"run/"} + base::sha256_hex(id).front() + ":" + std::string{id};
}

std::string due(std::string_view job, std::uint32_t partition, occurrence when) {
    return "due/" + word(job) + "/" + std::to_string(partition) + ":" +
           std::to_string(number(when));
}

std::string of(const run_start& start) {
    return start.occurrence ? due(start.job, start.partition, *start.occurrence) : run(start.id);
}

std::string saved(std::string_view job, std::uint32_t partition) {
    return "saved/" + word(job) + ":" + std::to_string(partition);
}

std::string runs_of(std::string_view job) { return "runs/" + word(job) + ":"; }
std::string parts(std::uint64_t number) { return "part/" + sixteen(number) + ":"; }
std::string output(std::uint64_t number) { return parts(number) + "o/"; }
std::string history(std::uint64_t number) { return parts(number) + "h/"; }

std::string newest_first(std::string_view prefix, std::uint64_t number) {
    return std::string{prefix} + sixteen(highest - number);
}

std::string oldest_first(std::string_view prefix, std::uint64_t number) {
    return std::string{prefix} + sixteen(number);
}

std::optional<std::uint64_t> number_of(std::string_view prefix, std::string_view key) {
    if (!key.starts_with(prefix)) return std::nullopt;
    const auto place = base::parse_number<std::uint64_t>(key.substr(prefix.size()), 16);
    if (!place || *place > highest) return std::nullopt;
    return highest - *place;
}

std::string chunk(std::uint64_t number, std::uint64_t end, fence_token token, std::size_t size) {
    return output(number) + base::padded(end, decimal_digits) + "-" +
           std::to_string(pawl::number(token)) + "-" + std::to_string(size);
}

std::string chunks_behind(std::uint64_t number, std::uint64_t offset) {
    // A letter behind '-'.
    return output(number) + base::padded(offset, decimal_digits) + ".";
}

std::string events(std::uint64_t number, std::uint64_t first) {
    return history(number) + base::padded(first, decimal_digits);
}

std::string checkpoint(std::uint64_t number, std::string_view ref) {
    return parts(number) + "c/" + std::string{ref};
}

}  // namespace pawl::cas::keys
