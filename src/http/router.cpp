#include "http/router.hpp"

#include "base/ensure.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl::http {
namespace {

// Calls `take` with each segment of a path that begins with '/', until it says false.
template <class Take>
bool each_segment(std::string_view path, Take take) {
    path.remove_prefix(1);
    for (;;) {
        const auto end = std::min(path.find('/'), path.size());
        if (!take(path.substr(0, end))) return false;
        if (end == path.size()) return true;
        path.remove_prefix(end + 1);
    }
}

}  // namespace

router::segment router::segment_of(std::string_view text) {
    if (text.size() < 3 || text.front() != '{' || text.back() != '}')
        return {what::literal, std::string{text}};
    text = text.substr(1, text.size() - 2);
    if (text.back() != '*') return {what::one, std::string{text}};
    return {what::rest, std::string{text.substr(0, text.size() - 1)}};
}

void router::add(std::string method, std::string_view pattern) {
    base::ensure(!method.empty() && !pattern.empty() && pattern.front() == '/');
    entry made{std::move(method), {}};
    each_segment(pattern, [&](std::string_view text) {
        made.segments.push_back(segment_of(text));
        return true;
    });
    std::set<std::string_view> names;
    int rests = 0;
    for (const auto& one : made.segments) {
        base::ensure(one.kind == what::literal || names.insert(one.text).second);
        rests += one.kind == what::rest ? 1 : 0;
    }
    base::ensure(rests <= 1);
    for (const auto& other : entries_)
        base::ensure(other.method != made.method || other.segments != made.segments);
    entries_.push_back(std::move(made));
}

// How many segments of the path stand for {name*}. REQUIRES: the path has enough for the others.
std::size_t router::taken_by_rest(const entry& pattern, const decoded_path& path) {
    return path.size() - pattern.segments.size() + 1;
}

bool router::fits(const entry& pattern, const decoded_path& path) {
    if (path.size() < pattern.segments.size()) return false;
    std::size_t at = 0;
    for (const auto& one : pattern.segments) {
        if (one.kind == what::rest) {
            const auto count = taken_by_rest(pattern, path);
            // Two empty segments have a slash between them, which is a value; one has nothing.
            if (count == 1 && path[at].empty()) return false;
            at += count;
            continue;
        }
        if (at == path.size()) return false;
        if (one.kind == what::literal ? path[at] != one.text : path[at].empty()) return false;
        ++at;
    }
    return at == path.size();
}

// REQUIRES: both fit the same path.
bool router::wins(const entry& one, const entry& other) {
    return std::lexicographical_compare(
        one.segments.begin(), one.segments.end(), other.segments.begin(), other.segments.end(),
        [](const segment& left, const segment& right) { return left.kind < right.kind; });
}

parameters router::values_of(const entry& pattern, const decoded_path& path) {
    parameters values;
    std::size_t at = 0;
    for (const auto& one : pattern.segments) {
        auto count = one.kind == what::rest ? taken_by_rest(pattern, path) : std::size_t{1};
        if (one.kind != what::literal) {
            auto& value = values[one.text];
            value = path[at];
            for (std::size_t next = 1; next < count; ++next) value += '/' + path[at + next];
        }
        at += count;
    }
    return values;
}

match router::find(std::string_view method, std::string_view path) const {
    if (path.empty() || path.front() != '/') return bad_path{"a path begins with '/'"};
    decoded_path segments;
    const bool decoded = each_segment(path, [&](std::string_view text) {
        auto one = percent_decode(text);
        if (one) segments.push_back(std::move(*one));
        return one.has_value();
    });
    if (!decoded)
        return bad_path{
            "the path is not UTF-8 without control characters, or has a '%' without two "
            "hexadecimal "
            "digits: write %25 for '%'"};
    if (method == "HEAD") {
        // A route of its own, where there is one.
        const bool own = std::any_of(entries_.begin(), entries_.end(), [&](const entry& one) {
            return one.method == "HEAD" && fits(one, segments);
        });
        if (!own) method = "GET";
    }
    const entry* best = nullptr;
    std::set<std::string> allowed;
    for (const auto& one : entries_) {
        if (!fits(one, segments)) continue;
        allowed.insert(one.method);
        if (one.method == method && (best == nullptr || wins(one, *best))) best = &one;
    }
    if (best != nullptr)
        return matched{static_cast<std::size_t>(best - entries_.data()),
                       values_of(*best, segments)};
    if (allowed.empty()) return no_such_path{};
    if (allowed.count("GET") != 0) allowed.insert("HEAD");
    return no_such_method{{allowed.begin(), allowed.end()}};
}

}  // namespace pawl::http
