#include "assembly/parameters.hpp"

#include "base/comma_list.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace pawl::assembly {
namespace {

constexpr millis quarantine_auto{60'000};
constexpr millis timeout_min{10};
constexpr millis timeout_max{600'000};

// It may be the end of a password with a bare '?', and is not shown then.
bool may_be_secret(std::string_view value) { return value.find('@') != std::string_view::npos; }

[[noreturn]] void reject(std::string_view name, std::string_view value, std::string_view what) {
    throw option_error{"the store URL's parameter " + std::string{name} + "=" +
                       (may_be_secret(value) ? "***" : base::printable(value)) + ": " +
                       std::string{what}};
}

}  // namespace

std::optional<std::string> parameters::text(std::string_view name) {
    asked_.push_back(name);
    const auto* value = url_.find(name);
    return value == nullptr ? std::nullopt : std::optional{*value};
}

std::optional<millis> parameters::duration(std::string_view name) {
    const auto value = text(name);
    if (!value) return std::nullopt;
    const auto parsed = base::parse_duration(*value);
    if (parsed.has_error()) reject(name, *value, parsed.error().what);
    return *parsed;
}

std::optional<std::size_t> parameters::choice(std::string_view name,
                                              const std::vector<std::string_view>& allowed) {
    const auto value = text(name);
    if (!value) return std::nullopt;
    const auto found = std::find(allowed.begin(), allowed.end(), *value);
    if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
    reject(name, *value, "expected one of " + base::comma_list(allowed));
}

std::optional<std::string> parameters::password() {
    const auto plain = text("password");
    auto kept = first_line_of("password_file");
    if (!kept) return plain ? plain : url_.password;
    if (plain || url_.password)
        throw option_error{"the store URL gives both a password and a password_file: keep one"};
    return kept;
}

std::optional<std::string> parameters::first_line_of(std::string_view name) {
    const auto path = text(name);
    if (!path) return std::nullopt;
    std::error_code ignored;
    if (std::filesystem::is_directory(*path, ignored))
        reject(name, *path, "a folder: name a file with the password in its first line");
    std::ifstream file{*path};
    std::string line;
    if (!file || !std::getline(file, line))
        reject(name, *path, file.is_open() ? "the file is empty" : std::strerror(errno));
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

void parameters::finish() const {
    for (const auto& [name, value] : url_.parameters) {
        if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
        if (may_be_secret(value))
            throw option_error{
                "the store URL has an unknown parameter with an '@'; a '?' in a password is "
                "written %3F"};
        auto what = "the store URL's parameter '" + base::printable(name) + "' is unknown to " +
                    url_.scheme + ":";
        const auto meant = base::nearest(name, asked_);
        throw option_error{meant ? what + " did you mean '" + std::string{*meant} + "'?"
                                 : what + " remove it"};
    }
}

store_settings take_settings(parameters& query, quarantine_unless_told otherwise) {
    store_settings settings;
    if (const auto name = query.text("namespace")) {
        if (const auto bad = base::name_space_fault(*name)) throw option_error{*bad};
        settings.name_space = *name;
    }
    if (const auto timeout = query.duration("timeout")) {
        if (*timeout < timeout_min || *timeout > timeout_max)
            reject("timeout", base::format_duration(*timeout), "expected 10ms to 10m");
        settings.timeout = *timeout;
    }
    if (query.choice("safety", {"efficiency", "correctness"}) == 1U)
        settings.safety = safety_class::correctness;
    const auto quarantine = query.text("quarantine").value_or("auto");
    if (quarantine == "auto") {
        if (settings.safety == safety_class::correctness || otherwise == quarantine_unless_told::on)
            settings.quarantine = quarantine_auto;
    } else if (quarantine != "off") {
        const auto longest = query.duration("quarantine");
        if (longest->count() == 0)
            reject("quarantine", quarantine, "expected auto, off, or a duration above 0");
        settings.quarantine = *longest;
    } else if (settings.safety == safety_class::correctness) {
        reject("quarantine", quarantine,
               "safety=correctness needs a quarantine; give auto or a duration");
    }
    if (const auto skew = query.duration("max_skew")) settings.max_skew = *skew;
    if (const auto retention = query.duration("retention")) {
        if (retention->count() == 0) reject("retention", "0", "expected a duration above 0");
        settings.retention = *retention;
    }
    return settings;
}

unsigned database_number(const std::string& engine, const std::string& path) {
    if (path.empty()) return 0;
    const auto database = base::parse_number<unsigned>(path);
    if (database && path.size() <= 4) return *database;
    throw option_error{engine + ": the database after the '/' must be an integer from 0 to 9999"};
}

net::tls_settings take_tls(parameters& query) {
    net::tls_settings tls;
    tls.ca = query.text("ca").value_or("");
    tls.certificate = query.text("cert").value_or("");
    tls.key = query.text("key").value_or("");
    tls.server_name = query.text("tls_server_name").value_or("");
    if (tls.certificate.empty() != tls.key.empty())
        throw option_error{"cert= and key= go together: give both or neither"};
    return tls;
}

}  // namespace pawl::assembly
