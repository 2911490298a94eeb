// One namespace of a bucket, for the core.
#include "engines/s3/store/s3_medium.hpp"

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "engines/s3/store/object_names.hpp"
#include "engines/s3/store/s3_store.hpp"

#include <algorithm>

namespace pawl::s3 {
namespace {

using cas::write_answer;
using outcome = bucket_answer::outcome;

// The Date field has whole seconds, and some servers make it anew once a second only.
constexpr cas::micros clock_step = std::chrono::seconds{2};
// Two front ends of one region follow the same time service.
constexpr cas::micros skew_default = std::chrono::seconds{2};
constexpr millis ttl_min{1'000};

// A read that met a write is repeated, a little later each time.
constexpr int looks_max = 6;
constexpr std::chrono::nanoseconds look_again_after = std::chrono::milliseconds{20};

// Servers that keep objects as files answer, beside a write, one state with the version of another.
// An ETag that looks like a digest is one, unless the object is encrypted by keys that are not S3's
// own.
bool belong_together(const net::https_response& got) {
    std::string_view tag = got.field("etag");
    if (tag.size() != 34 || !tag.starts_with('"') || !tag.ends_with('"')) return true;
    tag = tag.substr(1, 32);
    const bool is_digest =
        std::all_of(tag.begin(), tag.end(),
                    [](char c) { return base::is_digit(c) || (c >= 'a' && c <= 'f'); }) &&
        got.field("x-amz-server-side-encryption").find("kms") == std::string_view::npos &&
        got.field("x-amz-server-side-encryption-customer-algorithm").empty();
    if (!is_digest) return true;
    return base::md5_hex(got.body) == tag;
}

}  // namespace

medium::medium(std::shared_ptr<bucket> on, const std::string& prefix, const std::string& name_space)
    : on_{std::move(on)},
      folder_{folder_of(prefix, name_space)},
      place_{on_->place() + (prefix.empty() ? "" : "/" + prefix)} {}

cas::medium_traits medium::traits() const noexcept {
    cas::medium_traits traits;
    traits.clock_step = clock_step;
    traits.skew = skew_default;
    traits.ttl_min = ttl_min;
    return traits;
}

// The first record that is read tells whether there is a bucket; it has no identity of its own.
async<std::string> medium::prepare(instant) { co_return std::string{}; }

result<std::string> medium::object_of(const cas::record_name& name) const {
    auto made = name_of(folder_, name);
    if (made.size() <= name_max) return made;
    return failure{errc::rejected, place_ + ": the key needs a name of " +
                                       std::to_string(made.size()) +
                                       " bytes; expected at most 1024, where a byte that is no "
                                       "letter or digit may count as three"};
}

async<cas::seen> medium::read(cas::record_name name, instant until) {
    const auto self = shared_from_this();
    auto object = object_of(name);
    if (object.has_error()) co_return object.error();
    for (int look = 1;; ++look) {
        bucket_request wanted{"GET", *object};
        auto asking = on_->ask(std::move(wanted), until);
        auto got = co_await std::move(asking);
        if (got.has_error()) co_return got.error();
        cas::seen stands;
        stands.clock = got->clock;
        if (got->end == outcome::absent) co_return stands;
        stands.at = std::string{got->response.field("etag")};
        if (stands.at.empty())
            co_return failure{errc::protocol, place_ + ": this is not S3: an object without ETag"};
        if (belong_together(got->response)) {
            stands.text = std::move(got->response.body);
            co_return stands;
        }
        if (look == looks_max)
            co_return failure{errc::unreachable,
                              place_ + ": the ETag of an object is not the MD5 of its content"};
        auto pausing = net::sleep_for(look_again_after * look);
        co_await std::move(pausing);
    }
}

async<write_answer> medium::change_object(bucket_request what, cas::version expected,
                                          instant until) {
    const auto self = shared_from_this();
    if (expected.empty())
        what.fields.emplace_back("If-None-Match", "*");
    else
        what.fields.emplace_back("If-Match", std::move(expected));
    const bool is_put = what.method == "PUT";
    auto asking = on_->ask(std::move(what), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->end == outcome::failed_condition)
        co_return write_answer{cas::conflict{std::nullopt, got->clock}};
    std::string at{got->response.field("etag")};
    if (!is_put) at.clear();
    if (is_put && at.empty())
        co_return failure{errc::outcome_unknown, place_ + ": this is not S3: a write without ETag"};
    co_return write_answer{cas::written{std::move(at), got->clock}};
}

async<write_answer> medium::write(cas::change what, instant until) {
    const auto self = shared_from_this();
    auto object = object_of(what.name);
    if (object.has_error()) co_return object.error();
    bucket_request wanted{"PUT", std::move(*object), std::move(what.text)};
    wanted.fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
    auto changing = change_object(std::move(wanted), std::move(what.expected), until);
    co_return co_await std::move(changing);
}

async<write_answer> medium::erase(cas::record_name name, cas::version expected, instant until) {
    const auto self = shared_from_this();
    auto object = object_of(name);
    if (object.has_error()) co_return object.error();
    bucket_request wanted{"DELETE", std::move(*object)};
    auto changing = change_object(std::move(wanted), std::move(expected), until);
    co_return co_await std::move(changing);
}

std::shared_ptr<cas::medium> make_s3_medium(net::loop& where, const s3_settings& settings) {
    auto on =
        std::make_shared<bucket>(aws::service::make(where, settings.service),
                                 settings.service.where.region, settings.bucket, settings.how);
    return std::make_shared<medium>(std::move(on), settings.prefix, settings.common.name_space);
}

std::shared_ptr<lease_store> make_s3_store(net::loop& where, const s3_settings& settings) {
    return cas::make_cas_store(where, {settings.common, settings.skew},
                               make_s3_medium(where, settings));
}

}  // namespace pawl::s3
