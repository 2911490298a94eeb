#include "engines/mysql/client/statement.hpp"

#include "base/ensure.hpp"
#include "base/hex.hpp"

#include <algorithm>

namespace pawl::mysql {
namespace {

// A key of usual length, in hexadecimal.
constexpr std::size_t bytes_per_value = 64;

// Comments and indentation would only be sent and parsed again and again.
std::string strip(std::string_view file) {
    std::string text;
    while (!file.empty()) {
        const auto end = std::min(file.find('\n'), file.size());
        auto line = file.substr(0, end);
        file.remove_prefix(std::min(end + 1, file.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.empty() || line.starts_with("--")) continue;
        if (!text.empty()) text += ' ';
        text += line;
    }
    if (text.ends_with(';')) text.pop_back();
    return text;
}

}  // namespace

std::string literal(std::string_view bytes) { return "x'" + base::to_hex(bytes) + "'"; }

statement::statement(std::string_view file) {
    const auto text = strip(file);
    std::string before;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto open = text.find('{', at);
        if (open == std::string::npos) break;
        const auto close = text.find('}', open);
        base::ensure(close != std::string::npos);
        before.append(text, at, open - at);
        auto name = text.substr(open + 1, close - open - 1);
        at = close + 1;
        if (name == "now") {
            before += server_clock;
            continue;
        }
        parts_.push_back({std::move(before), std::move(name)});
        before.clear();
    }
    parts_.push_back({before + text.substr(std::min(at, text.size())), {}});
    for (const auto& each : parts_) size_ += each.text.size() + bytes_per_value;
}

std::string statement::fill(std::span<const binding> values) const {
    std::string text;
    text.reserve(size_);
    for (const auto& each : parts_) {
        text += each.text;
        if (each.name.empty()) break;
        const auto found = std::find_if(values.begin(), values.end(), [&](const binding& value) {
            return value.first == each.name;
        });
        base::ensure(found != values.end());
        text += found->second;
    }
    return text;
}

std::string statement::prepared() const {
    std::string text;
    for (const auto& each : parts_) text.append(each.text).append(each.name.empty() ? "" : "?");
    return text;
}

std::vector<std::string_view> statement::names() const {
    std::vector<std::string_view> all;
    for (const auto& each : parts_)
        if (!each.name.empty()) all.push_back(each.name);
    return all;
}

const prepared_call::value& prepared_call::find(std::string_view name) const {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& each) { return each.first == name; });
    base::ensure(found != values.end());
    return found->second;
}

std::string prepared_call::text() const {
    std::vector<std::string> literals;
    literals.reserve(values.size());
    std::vector<statement::binding> bindings;
    for (const auto& [name, what] : values) {
        const auto* bytes = std::get_if<std::string>(&what);
        literals.push_back(bytes != nullptr ? literal(*bytes)
                                            : std::to_string(std::get<std::int64_t>(what)));
        bindings.emplace_back(name, literals.back());
    }
    return of->fill(bindings);
}

}  // namespace pawl::mysql
