#include "config/findings.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pawl::config {
namespace {

constexpr std::size_t quoted_bytes_max = 60;
constexpr std::size_t what_bytes_max = 400;

bool is_before(const fault& left, const fault& right) {
    return std::tie(left.at.line, left.at.column, left.what) <
           std::tie(right.at.line, right.at.column, right.what);
}

bool is_same(const fault& left, const fault& right) {
    return !is_before(left, right) && !is_before(right, left);
}

// Never in the middle of a UTF-8 character.
std::string shortened(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return std::string{text};
    std::size_t end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return std::string{text.substr(0, end)} + "…";
}

void sort_and_cut(std::vector<fault>& all) {
    std::sort(all.begin(), all.end(), is_before);
    all.erase(std::unique(all.begin(), all.end(), is_same), all.end());
    if (all.size() > faults_kept_max) all.resize(faults_kept_max);
}

void keep(std::vector<fault>& all, place at, const std::string& what) {
    all.push_back({at, shortened(base::printable(what), what_bytes_max)});
    if (all.size() >= 2 * faults_kept_max) sort_and_cut(all);
}

}  // namespace

void findings::add_fault(place at, std::string what) {
    ++fault_count_;
    keep(faults_, at, what);
}

void findings::add_warning(place at, std::string what) { keep(warnings_, at, what); }

std::vector<fault> findings::take_faults() {
    const auto before = faults_.size();
    sort_and_cut(faults_);
    // What was found twice, such as a mistake in [defaults] for each job, is one fault.
    if (fault_count_ == before) fault_count_ = faults_.size();
    return std::exchange(faults_, {});
}

std::vector<fault> findings::take_warnings() {
    sort_and_cut(warnings_);
    return std::exchange(warnings_, {});
}

std::string quoted(std::string_view text) {
    return "'" + shortened(base::printable(text), quoted_bytes_max) + "'";
}

}  // namespace pawl::config
