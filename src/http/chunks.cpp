#include "http/chunks.hpp"

#include "base/number.hpp"

#include <algorithm>

namespace pawl::http {
namespace {

constexpr std::string_view line_end = "\r\n";

bool is_clean(std::string_view line) {
    return std::all_of(line.begin(), line.end(), [](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
    });
}

}  // namespace

// A size, with or without extensions, which are not read.
void chunk_reader::take_size(std::string_view line, std::size_t had) {
    const auto [size, digits, out_of_range] = base::read_number<std::uint64_t>(line, 16);
    if (out_of_range) {
        state_ = state::too_large;
        return;
    }
    auto rest = line.substr(digits);
    const bool bare = rest.empty();
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (digits == 0 || (!bare && rest.substr(0, 1) != ";")) {
        state_ = state::faulty;
        return;
    }
    if (size > body_bytes_max_ - had) {
        state_ = state::too_large;
        return;
    }
    left_ = size;
    part_ = size == 0 ? part::trailers : part::data;
}

void chunk_reader::take_trailer(std::string_view line) {
    if (line.empty()) {
        state_ = state::complete;
        return;
    }
    trailer_bytes_ += line.size() + line_end.size();
    const auto colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos || trailer_bytes_ > line_bytes_max_ ||
        line.substr(0, colon).find_first_of(" \t") != std::string_view::npos) {
        state_ = state::faulty;
    }
}

std::size_t chunk_reader::read(std::string_view bytes, std::string& body) {
    std::size_t used = 0;
    while (state_ == state::more) {
        const auto rest = bytes.substr(used);
        if (part_ == part::data) {
            const auto taken = std::min(rest.size(), left_);
            body.append(rest.substr(0, taken));
            used += taken;
            left_ -= taken;
            if (left_ > 0) return used;
            part_ = part::data_end;
            continue;
        }
        if (part_ == part::data_end) {
            if (rest.size() < line_end.size()) return used;
            if (rest.substr(0, line_end.size()) != line_end) state_ = state::faulty;
            used += line_end.size();
            part_ = part::size;
            continue;
        }
        const auto end = rest.find(line_end);
        if (std::min(end, rest.size()) > line_bytes_max_) state_ = state::faulty;
        if (end == std::string_view::npos) return used;
        const auto line = rest.substr(0, end);
        used += end + line_end.size();
        if (!is_clean(line))
            state_ = state::faulty;
        else if (part_ == part::size)
            take_size(line, body.size());
        else
            take_trailer(line);
    }
    return used;
}

}  // namespace pawl::http
