// What `pawl doctor` says of a bucket: what keeps old states of it, and what deletes them.
#include "base/text.hpp"
#include "base/xml.hpp"
#include "engines/s3/store/s3_medium.hpp"

#include <algorithm>

namespace pawl::s3 {
namespace {

using outcome = bucket_answer::outcome;

// Whether a rule ends objects, or old states of them.
bool has_rule(const std::string& lifecycle, const char* action) {
    const auto rules = base::elements_in(lifecycle, "Rule");
    return std::any_of(rules.begin(), rules.end(), [action](std::string_view rule) {
        return base::text_in(rule, "Status") == "Enabled" &&
               !base::elements_in(rule, action).empty();
    });
}

// A server without such settings has none that could do harm.
finding unread(const char* check, const failure& why) {
    if (why.code == errc::unsupported) return {severity::ok, check, "not a feature of this server"};
    return {severity::warn, check, "could not be read: " + why.detail};
}

}  // namespace

async<finding> medium::examine_versions(instant until) {
    const auto self = shared_from_this();
    bucket_request wanted{"GET", ""};
    wanted.query = "versioning=";
    auto asking = on_->ask(std::move(wanted), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return unread("versioning", got.error());
    if (base::text_in(got->response.body, "Status") == "Enabled")
        co_return finding{severity::warn, "versioning",
                          "the bucket keeps every renewal as a version of its own: use one without "
                          "versioning, or a lifecycle rule for noncurrent versions"};
    co_return finding{severity::ok, "versioning", "old states are not kept"};
}

async<finding> medium::examine_lifecycle(instant until) {
    const auto self = shared_from_this();
    bucket_request wanted{"GET", ""};
    wanted.query = "lifecycle=";
    auto asking = on_->ask(std::move(wanted), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return unread("persistence", got.error());
    if (got->end == outcome::done && has_rule(got->response.body, "Expiration"))
        co_return finding{severity::warn, "persistence",
                          "a lifecycle rule deletes objects of this bucket: leave out " + folder_ +
                              ", whose records say which occurrences have run"};
    co_return finding{severity::ok, "persistence", "no lifecycle rule deletes objects"};
}

async<examination> medium::examine(instant until) {
    const auto self = shared_from_this();
    examination found;
    bucket_request wanted{"GET", ""};
    wanted.query = "list-type=2&max-keys=1";
    auto asking = on_->ask(std::move(wanted), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    const auto server = base::printable(got->response.field("server"));
    found.version = server.empty() || server == "AmazonS3" ? "Amazon S3" : "S3 of " + server;
    found.fence_statement = "PUT with If-Match: (the ETag that was read) on " + place_;
    found.findings = on_->service().examine();
    auto looking = examine_versions(until);
    auto versions = co_await std::move(looking);
    if (versions.has_error()) co_return versions.error();
    found.findings.push_back(std::move(*versions));
    auto looking_on = examine_lifecycle(until);
    auto lifecycle = co_await std::move(looking_on);
    if (lifecycle.has_error()) co_return lifecycle.error();
    found.findings.push_back(std::move(*lifecycle));
    co_return found;
}

}  // namespace pawl::s3
