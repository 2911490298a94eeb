// The query of a store URL, taken apart name by name, so that what is left over is a mistake.
#pragma once

#include "base/url.hpp"
#include "net/tls_settings.hpp"

#include <pawl/errors.hpp>
#include <pawl/spi/store_settings.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::assembly {

// Every method throws option_error with one line that names the parameter, its value and what would
// do.
class parameters {
public:
    explicit parameters(const base::store_url& url) : url_{url} {}

    std::optional<std::string> text(std::string_view name);
    std::optional<millis> duration(std::string_view name);
    // The index of the value among those allowed.
    std::optional<std::size_t> choice(std::string_view name,
                                      const std::vector<std::string_view>& allowed);
    // The password of the URL, or the first line of the file that password_file names.
    std::optional<std::string> password();
    // The first line of the file that the parameter names.
    std::optional<std::string> first_line_of(std::string_view name);
    // Throws for the first parameter that was not asked for, with the nearest that was.
    void finish() const;

private:
    const base::store_url& url_;
    std::vector<std::string_view> asked_;
};

// What quarantine=auto, which is also the default, means without safety=correctness (rule 7).
enum class quarantine_unless_told { off, on };

// namespace, timeout, safety, quarantine, max_skew and retention: common to all engines.
store_settings take_settings(parameters& query,
                             quarantine_unless_told otherwise = quarantine_unless_told::off);
// ca, cert, key and tls_server_name: of engines that speak TLS.
net::tls_settings take_tls(parameters& query);
// What the path of a Redis names, from 0 to 9999; 0 where it is empty.
unsigned database_number(const std::string& engine, const std::string& path);

}  // namespace pawl::assembly
