#include "cli/output/output.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/output/log_writer.hpp"
#include "documents/documents.hpp"
#include "time/rfc3339.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>

namespace pawl::cli {
namespace {

std::atomic<bool> json_logs{false};

// Of UTF-8, one for each character.
std::size_t width_of(std::string_view cell) {
    const auto begins = [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
    };
    return static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), begins));
}

}  // namespace

void print_json(const boost::json::value& document) {
    std::cout << documents::serialize(document) << '\n' << std::flush;
}

void print_table(std::vector<std::vector<std::string>> rows) {
    std::vector<std::size_t> widths;
    for (auto& row : rows) {
        // A row of the store, or a server that only says that it is an agent, may hold anything.
        for (auto& cell : row) cell = base::printable(cell);
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) line.append(widths[i] - width_of(row[i]) + 2, ' ');
        }
        std::cout << line << '\n';
    }
    std::cout << std::flush;
}

std::string local_time(std::int64_t unix_millis) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(millis{unix_millis});
    const std::time_t at = seconds.count();
    std::tm here{};
    localtime_r(&at, &here);
    return time::format_rfc3339(time::wall_instant{seconds}, std::chrono::seconds{here.tm_gmtoff});
}

std::string local_time(std::string_view rfc3339) {
    const auto when = time::parse_rfc3339(rfc3339);
    if (when.has_error()) return base::printable(rfc3339);
    return local_time(std::chrono::floor<millis>(when->time_since_epoch()).count());
}

std::string_view word_of(run_status status) {
    return status == run_status::started ? "running" : name_of(status);
}

void log_as_json(bool json) { json_logs = json; }

void outlive_log_reader() {
    std::signal(SIGPIPE, SIG_IGN);
    // Beyond a limit on the sizes of files a write is to fail, not to kill.
    std::signal(SIGXFSZ, SIG_IGN);
    standard_error()->drop_when_full();
}

void wait_for_log_reader() {
    standard_error()->wait_when_full();
    spdlog::default_logger_raw()->flush();
}

void log(log_level level, std::string_view message) {
    const auto text =
        json_logs ? documents::serialize(boost::json::string{message}) : base::printable(message);
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

std::string describe(const busy& other, std::string_view key) {
    return documents::text_of(other, key);
}

}  // namespace pawl::cli
