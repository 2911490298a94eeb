// The URL that opens a store, for the plan of an engine.
#pragma once

#include <pawl/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// scheme:PATH?query, or scheme://[user[:password]@]host[:port][,host[:port]…][/path]?query, at most
// 4096 bytes. Every part is percent-decoded. A parameter that the engine has not read by finish()
// is a mistake in the URL.
//
// Every member that throws throws option_error with one line, which names the parameter and what
// would do, and never the secret. Not thread-safe.
class store_url {
public:
    // Throws for what is no such URL, with the column, and for a parameter that is given twice.
    explicit store_url(std::string_view text);
    ~store_url();
    store_url(const store_url&) = delete;
    store_url& operator=(const store_url&) = delete;

    struct endpoint {
        // A name, an IPv4 address, or an IPv6 address without brackets.
        std::string host{};

        // 0: the URL names none.
        std::uint16_t port = 0;
    };

    // As it is given, without the colon.
    const std::string& scheme() const noexcept;

    // Nothing: the URL names none.
    const std::optional<std::string>& user() const noexcept;

    // In the order of the URL; empty for scheme:PATH.
    const std::vector<endpoint>& endpoints() const noexcept;

    // Without the '/' that ends the hosts; for scheme:PATH as it is given.
    const std::string& path() const noexcept;

    // The password of the URL or of the parameter `password`, or the first line of the file that
    // the parameter `password_file` names. Throws if the file cannot be read, and if there are two.
    std::optional<std::string> password();

    // The parameter of this name. Nothing: the URL has none.
    std::optional<std::string> text(std::string_view name);

    // The same, such as 1m30s: 0 to ten years. Throws for what is no such duration.
    std::optional<millis> duration(std::string_view name);

    // The index of the value among those allowed. Throws for another.
    std::optional<std::size_t> choice(std::string_view name,
                                      const std::vector<std::string_view>& allowed);

    // The parameters that all engines have: namespace, timeout, safety, quarantine, max_skew and
    // retention. Throws for a value out of its bounds.
    store_settings settings();

    // Throws for a parameter that was not read, with the nearest that was.
    void finish() const;

private:
    struct parts;
    const std::unique_ptr<parts> parts_;
};

}  // namespace pawl
