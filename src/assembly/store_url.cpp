#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"

#include <pawl/spi/store_url.hpp>

namespace pawl {

struct store_url::parts {
    explicit parts(std::string_view text) : url{assembly::parse_or_reject(text)} {
        for (const auto& one : url.endpoints) endpoints.push_back({one.host, one.port});
    }

    const base::store_url url;
    assembly::parameters query{url};
    std::vector<endpoint> endpoints;
};

store_url::store_url(std::string_view text) : parts_{std::make_unique<parts>(text)} {}
store_url::~store_url() = default;

const std::string& store_url::scheme() const noexcept { return parts_->url.scheme; }
const std::optional<std::string>& store_url::user() const noexcept { return parts_->url.user; }
const std::vector<store_url::endpoint>& store_url::endpoints() const noexcept {
    return parts_->endpoints;
}
const std::string& store_url::path() const noexcept { return parts_->url.path; }
std::optional<std::string> store_url::password() { return parts_->query.password(); }
std::optional<std::string> store_url::text(std::string_view name) {
    return parts_->query.text(name);
}
std::optional<millis> store_url::duration(std::string_view name) {
    return parts_->query.duration(name);
}
std::optional<std::size_t> store_url::choice(std::string_view name,
                                             const std::vector<std::string_view>& allowed) {
    return parts_->query.choice(name, allowed);
}
store_settings store_url::settings() { return assembly::take_settings(parts_->query); }
void store_url::finish() const { parts_->query.finish(); }

}  // namespace pawl
