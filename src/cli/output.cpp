#include "cli/output.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>

namespace pawl::cli {
namespace {

std::atomic<bool> json_logs{false};

}  // namespace

void print_json(const boost::json::value& document) {
    std::cout << documents::serialize(document) << '\n' << std::flush;
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
