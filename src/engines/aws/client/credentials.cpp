#include "engines/aws/client/credentials.hpp"

#include "base/ascii.hpp"
#include "engines/aws/client/endpoint.hpp"
#include "engines/aws/client/key_sources.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace pawl::aws {
namespace {

using namespace std::chrono_literals;

// Keys are fetched anew so long before they end.
constexpr std::chrono::nanoseconds renewal_margin = 5min;
// A source that hands out keys about to end has no better ones for a while.
constexpr std::chrono::nanoseconds fetched_again_after = 10s;
constexpr std::chrono::nanoseconds failure_kept = 1s;
constexpr std::chrono::nanoseconds fetch_timeout = 5s;
// Files are looked at again, as they are replaced where keys are rotated.
constexpr std::chrono::nanoseconds lasting_keys_kept = 5min;

std::string variable(const char* name) {
    const auto* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

std::string file_in_home(const char* name, const char* overriding) {
    auto named = variable(overriding);
    if (!named.empty()) return named;
    const auto home = variable("HOME");
    return home.empty() ? std::string{} : home + "/.aws/" + name;
}

}  // namespace

std::string region_of_environment() {
    auto region = variable("AWS_REGION");
    return region.empty() ? variable("AWS_DEFAULT_REGION") : region;
}

credential_settings credentials_of_environment(std::string_view region) {
    credential_settings from;
    from.keys = {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                 variable("AWS_SESSION_TOKEN")};
    from.role_arn = variable("AWS_ROLE_ARN");
    from.role_session = variable("AWS_ROLE_SESSION_NAME");
    from.identity_file = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    from.sts_endpoint = variable("AWS_ENDPOINT_URL_STS");
    if (from.sts_endpoint.empty()) from.sts_endpoint = endpoint_of("sts", region);
    const auto profile = variable("AWS_PROFILE");
    from.profile_named = !profile.empty();
    if (from.profile_named) from.profile = profile;
    from.credentials_file = file_in_home("credentials", "AWS_SHARED_CREDENTIALS_FILE");
    from.config_file = file_in_home("config", "AWS_CONFIG_FILE");
    from.container_url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const auto relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (!relative.empty()) from.container_url = "http://169.254.170.2" + relative;
    from.container_token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    from.container_token_file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (!base::equals_ignoring_case(variable("AWS_EC2_METADATA_DISABLED"), "true")) {
        from.metadata_url = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        if (from.metadata_url.empty()) from.metadata_url = "http://169.254.169.254";
    }
    return from;
}

std::shared_ptr<credentials> credentials::make(net::loop& where, credential_settings from) {
    return std::make_shared<credentials>(where, std::move(from));
}

credentials::credentials(net::loop& where, credential_settings from)
    : where_{where}, from_{std::make_shared<const credential_settings>(std::move(from))} {}

async<key_pair> credentials::get(instant until) {
    const auto self = shared_from_this();
    const auto now = where_.now();
    if (keys_ && now < fresh_until_) co_return *keys_;
    if (why_not_ && now < not_before_ && !(keys_ && now < ends_)) co_return *why_not_;
    if (!fetching_ && now >= not_before_) {
        fetching_ = std::make_shared<fetching>();
        boost::asio::co_spawn(where_.get_executor(), fetch(self, fetching_), net::unattended{});
    }
    if (keys_ && now < ends_) co_return *keys_;
    if (const auto mine = fetching_) {
        auto waiting = mine->done.wait_until(until);
        if (!co_await std::move(waiting))
            co_return failure{errc::unreachable, "no credentials of AWS in time"};
    }
    if (keys_ && where_.now() < ends_) co_return *keys_;
    co_return why_not_.value_or(failure{errc::denied, "no credentials of AWS"});
}

boost::asio::awaitable<void> credentials::fetch(std::shared_ptr<credentials> self,
                                                std::shared_ptr<fetching> mine) {
    auto finding = find_keys(self->where_, self->from_, self->where_.now() + fetch_timeout);
    const auto found = co_await std::move(finding);
    const auto now = self->where_.now();
    if (found.has_value()) {
        self->why_not_.reset();
        self->keys_ = found->keys;
        self->source_ = found->source;
        self->ends_ = instant::max();
        self->fresh_until_ = now + lasting_keys_kept;
        if (found->end) {
            const auto left = *found->end - self->where_.wall();
            self->ends_ = now + left;
            self->fresh_until_ = std::max(self->ends_ - renewal_margin,
                                          std::min(now + fetched_again_after, self->ends_));
        }
    } else {
        self->why_not_ = found.error();
        self->not_before_ = now + failure_kept;
    }
    self->fetching_.reset();
    mine->done.set();
}

}  // namespace pawl::aws
