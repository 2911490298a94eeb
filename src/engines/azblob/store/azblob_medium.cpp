// One namespace of a container, for the core.
#include "engines/azblob/store/azblob_store.hpp"
#include "engines/azblob/store/container.hpp"
#include "engines/azblob/store/names.hpp"
#include "engines/azblob/store/pages.hpp"

#include "base/ascii.hpp"
#include "base/xml.hpp"

#include <algorithm>
#include <utility>

namespace pawl::azblob {
namespace {

using cas::write_answer;

// Two front ends of one region follow the same time service; the Date field has whole seconds.
constexpr cas::micros skew_default = std::chrono::seconds{2};
constexpr millis ttl_min{1'000};
constexpr std::size_t prefix_max = 100;

bool anything_is_expected(const rejection&) { return true; }

std::string quoted(const cas::version& tag) { return "\"" + tag + "\""; }

class medium final : public cas::medium {
public:
    medium(std::shared_ptr<container> on, place_of_blobs where)
        : on_{std::move(on)}, where_{std::move(where)} {}

    cas::medium_traits traits() const noexcept override {
        cas::medium_traits traits;
        traits.skew = skew_default;
        traits.ttl_min = ttl_min;
        // An account that is copied to another region does, and few credentials may see whether
        // this one is.
        traits.forgets = true;
        return traits;
    }
    std::string place() const override { return on_->place(); }
    async<std::string> prepare(instant until) override { return on_->prepare(until); }
    bool has_answered() const noexcept override { return on_->has_answered(); }

    async<cas::seen> read(cas::record_name name, instant until) override;
    async<write_answer> write(cas::change what, instant until) override;
    async<write_answer> erase(cas::record_name name, cas::version expected, instant until) override;
    async<cas::listing> list(cas::list_order what, instant until) override {
        return list_records(on_, markers_, where_, std::move(what), until);
    }
    async<examination> examine(instant until) override;

private:
    std::string target_of(const cas::record_name& name) const {
        return "/" + blob_of(where_, name);
    }
    async<void> examine_account(std::shared_ptr<examination> into, instant until);
    async<void> examine_retention(std::shared_ptr<examination> into, instant until);

    // Constant after construction
    const std::shared_ptr<container> on_;
    const place_of_blobs where_;
    // On the loop only
    const std::shared_ptr<markers> markers_ = std::make_shared<markers>();
};

async<cas::seen> medium::read(cas::record_name name, instant until) {
    const auto self = shared_from_this();
    net::https_request request{"HEAD", target_of(name)};
    auto asking = on_->ask(std::move(request), effect::none, &lacks_blob, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    cas::seen stands;
    stands.clock = got->clock;
    if (!got->succeeded) co_return stands;
    auto text = text_of(got->answer.field("x-ms-meta-record"));
    stands.at = got->answer.field("etag");
    std::erase(stands.at, '"');
    if (!text || stands.at.empty())
        co_return failure{errc::rejected,
                          place() + ": a blob of the namespace is not a record of pawl"};
    stands.text = std::move(*text);
    co_return stands;
}

async<write_answer> medium::write(cas::change what, instant until) {
    const auto self = shared_from_this();
    net::https_request request{"PUT", target_of(what.name)};
    request.fields = metadata_of(what.name, what.text);
    request.fields.emplace_back("x-ms-blob-type", "BlockBlob");
    if (what.expected.empty())
        request.fields.emplace_back("If-None-Match", "*");
    else
        request.fields.emplace_back("If-Match", quoted(what.expected));
    auto asking = on_->ask(std::move(request), effect::writes, &is_conflict, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded) co_return write_answer{cas::conflict{std::nullopt, got->clock}};
    cas::version now{got->answer.field("etag")};
    std::erase(now, '"');
    if (now.empty())
        co_return failure{errc::outcome_unknown, place() + ": a write without the ETag it made"};
    co_return write_answer{cas::written{std::move(now), got->clock}};
}

async<write_answer> medium::erase(cas::record_name name, cas::version expected, instant until) {
    const auto self = shared_from_this();
    net::https_request request{"DELETE", target_of(name)};
    request.fields = {{"If-Match", quoted(expected)}, {"x-ms-delete-snapshots", "include"}};
    auto asking = on_->ask(std::move(request), effect::writes, &is_conflict, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (!got->succeeded) co_return write_answer{cas::conflict{std::nullopt, got->clock}};
    co_return write_answer{cas::written{{}, got->clock}};
}

// How many places keep the account, where the credentials may see it.
async<void> medium::examine_account(std::shared_ptr<examination> into, instant until) {
    net::https_request request{"GET", "?restype=account&comp=properties"};
    auto asking = on_->ask(std::move(request), effect::none, &anything_is_expected, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    const std::string kept{got->answer.field("x-ms-sku-name")};
    const bool in_another_region =
        kept.find("GRS") != std::string::npos || kept.find("GZRS") != std::string::npos;
    if (in_another_region)
        into->findings.push_back(
            {severity::warn, "replication",
             "the account is " + kept +
                 ", copied to another region some minutes late: a failover forgets the newest "
                 "grants; set quarantine=DUR, or use ZRS or LRS"});
    else
        into->findings.push_back(
            {severity::ok, "replication",
             kept.empty() ? "these credentials may not see how the account is replicated"
                          : "the account is " + kept + ", of one region"});
    if (got->answer.field("server").find("Azurite") != std::string_view::npos)
        into->version = got->answer.field("server");
    co_return result<void>{};
}

// Whether every renewal is kept, which is paid for.
async<void> medium::examine_retention(std::shared_ptr<examination> into, instant until) {
    net::https_request reading{"HEAD", target_of({cas::record_kind::marker, ""})};
    auto looking = on_->ask(std::move(reading), effect::none, &anything_is_expected, until);
    const auto marker = co_await std::move(looking);
    if (marker.has_error()) co_return marker.error();
    net::https_request request{"GET", "/?restype=service&comp=properties"};
    request.only_reads = true;
    auto asking = on_->on().ask(std::move(request), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    const auto policy = base::text_in(got->body, "DeleteRetentionPolicy");
    const bool is_soft = base::text_in(policy, "Enabled") == "true";
    const bool is_versioned = !marker->answer.field("x-ms-version-id").empty();
    if (is_soft || is_versioned)
        into->findings.push_back({severity::warn, "limits",
                                  std::string{is_soft ? "soft delete" : "versioning"} +
                                      " of blobs is on: every renewal leaves a copy that is paid "
                                      "for; use an account without it"});
    else
        into->findings.push_back(
            {severity::ok, "limits",
             got->status == 200 ? "no copies of renewals are kept"
                                : "no versions are kept; these credentials may not see whether "
                                  "soft delete is on"});
    co_return result<void>{};
}

async<examination> medium::examine(instant until) {
    const auto self = shared_from_this();
    // The first to look finds no container: it is made, as for any other verb.
    if (!on_->is_known()) {
        auto preparing = on_->prepare(until);
        const auto ready = co_await std::move(preparing);
        if (ready.has_error()) co_return ready.error();
    }
    const auto found = std::make_shared<examination>();
    found->version = "Azure Blob Storage";
    found->fence_statement = "Put Blob with If-Match: (the ETag that was read) on " + place();
    auto replicated = examine_account(found, until);
    const auto account = co_await std::move(replicated);
    if (account.has_error()) co_return account.error();
    auto kept = examine_retention(found, until);
    const auto retention = co_await std::move(kept);
    if (retention.has_error()) co_return retention.error();
    for (auto& one : on_->on().examine()) found->findings.push_back(std::move(one));
    co_return std::move(*found);
}

}  // namespace

std::optional<std::string> account_fault(const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
        return base::is_digit(c) || (base::is_letter(c) && base::lower(c) == c);
    });
    if (plain && name.size() >= 3 && name.size() <= 24) return std::nullopt;
    return "expected 3 to 24 lower-case letters and digits";
}

std::optional<std::string> container_fault(const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
        return base::is_digit(c) || (base::is_letter(c) && base::lower(c) == c) || c == '-';
    });
    const bool whole =
        !name.starts_with('-') && !name.ends_with('-') && name.find("--") == std::string::npos;
    if (plain && whole && name.size() >= 3 && name.size() <= 63) return std::nullopt;
    return "expected 3 to 63 lower-case letters, digits and single hyphens between them";
}

std::optional<std::string> prefix_fault(const std::string& prefix) {
    const bool plain = std::all_of(prefix.begin(), prefix.end(), [](char c) {
        return base::is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == '/';
    });
    // Dots at the end of a segment are lost on the way, and two segments can then be the same.
    const auto segments = "/" + prefix + "/";
    const bool whole =
        segments.find("//") == std::string::npos && segments.find("./") == std::string::npos;
    if (plain && whole && prefix.size() <= prefix_max) return std::nullopt;
    return "expected 1 to " + std::to_string(prefix_max) +
           " letters, digits, '_', '-' and '.' between single slashes, and no dot before a slash";
}

std::shared_ptr<cas::medium> make_azblob_medium(net::loop& where, const azblob_settings& settings) {
    place_of_blobs blobs{settings.prefix, settings.common.name_space};
    auto on = std::make_shared<container>(
        where, service::make(where, settings.service), settings.service.account, settings.container,
        settings.prefix, blob_of(blobs, {cas::record_kind::marker, ""}));
    return std::make_shared<medium>(std::move(on), std::move(blobs));
}

std::shared_ptr<lease_store> make_azblob_store(net::loop& where, const azblob_settings& settings) {
    return cas::make_cas_store(where, {settings.common, settings.skew},
                               make_azblob_medium(where, settings));
}

}  // namespace pawl::azblob
