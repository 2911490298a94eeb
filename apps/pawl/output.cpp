#include "pawl/output.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "time/rfc3339.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>

namespace pawl::app {
namespace {

std::atomic<bool> json_logs{false};

}  // namespace

void print_json(const boost::json::value& document) {
    std::cout << boost::json::serialize(document) << '\n' << std::flush;
}

void print_table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
        }
        std::cout << line << '\n';
    }
    std::cout << std::flush;
}

void log_as_json(bool json) { json_logs = json; }

void log(log_level level, std::string_view message) {
    const auto text =
        json_logs ? boost::json::serialize(boost::json::string{message}) : base::printable(message);
    switch (level) {
        case log_level::debug:
            spdlog::debug("{}", text);
            break;
        case log_level::info:
            spdlog::info("{}", text);
            break;
        case log_level::warn:
            spdlog::warn("{}", text);
            break;
        case log_level::error:
            spdlog::error("{}", text);
            break;
    }
}

std::string time_text(std::int64_t unix_millis) {
    return time::format_rfc3339(time::wall_instant{millis{unix_millis}});
}

boost::json::object json_of(const record& one) {
    boost::json::object object;
    object["key"] = one.key;
    object["owner"] = one.owner;
    object["fence_token"] = number(number(one.holder) != 0 ? one.holder : one.last_token);
    object["acquired_at"] = time_text(one.acquired_at);
    object["remaining_ms"] = one.remaining.count();
    object["held"] = number(one.holder) != 0;
    if (one.last_done)
        object["last_occurrence"] = time_text(number(*one.last_done));
    else
        object["last_occurrence"] = nullptr;
    object["waiters"] = one.waiters.value_or(0);
    return object;
}

std::string describe(const busy& other, std::string_view key) {
    const auto name = "'" + base::printable(key) + "'";
    const auto left = base::format_duration(other.remaining);
    switch (other.reason) {
        case busy_reason::held:
            return name + " is held by " + base::printable(other.owner) + " (token " +
                   std::to_string(number(other.holder)) + ", " + left + " left)";
        case busy_reason::lingering:
            return name + " is held by nobody until its time is up, in " + left;
        case busy_reason::quarantined:
            return name +
                   " is not granted yet: the store may have lost its data and is in quarantine for "
                   "another " +
                   left;
        case busy_reason::early:
            return name +
                   " is not granted yet: the occurrence lies too far ahead of the store's clock; "
                   "try again in " +
                   left;
    }
    return name + " is busy";
}

}  // namespace pawl::app
