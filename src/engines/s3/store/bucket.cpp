#include "engines/s3/store/bucket.hpp"

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "base/xml.hpp"

namespace pawl::s3 {
namespace {

constexpr std::string_view service_name = "S3";

// As S3 signs it: the slashes of a name stay.
bool stays_in_path(char letter) {
    return base::is_alphanumeric(letter) || letter == '-' || letter == '.' || letter == '_' ||
           letter == '~' || letter == '/';
}

effect effect_of(const std::string& method) {
    return method == "GET" ? effect::none : effect::writes;
}

// 404 is what a condition on an object that is gone comes to, and 409 what one comes to that met
// another request under way.
bool is_failed_condition(const bucket_request& what, const aws::rejection& says) {
    if (effect_of(what.method) == effect::none) return false;
    return says.status == 412 || (says.status == 404 && says.type == "NoSuchKey") ||
           (says.status == 409 &&
            (says.type == "ConditionalRequestConflict" || says.type == "OperationAborted"));
}

}  // namespace

aws::rejection read_rejection(unsigned status, std::string_view body) {
    aws::rejection read;
    read.status = status;
    for (const auto error : base::elements_in(body, "Error")) {
        read.type = base::printable(base::text_in(error, "Code"));
        read.message = base::text_in(error, "Message");
    }
    return read;
}

bucket::bucket(std::shared_ptr<aws::service> service, std::string region, std::string name,
               addressing how)
    : service_{std::move(service)},
      region_{std::move(region)},
      name_{std::move(name)},
      place_{"s3://" + name_},
      path_{how == addressing::path ? "/" + name_ + "/" : "/"} {}

// A bucket of another region says where it is.
std::optional<failure> bucket::elsewhere(const net::https_response& got) const {
    auto region = std::string{got.field("x-amz-bucket-region")};
    if (region.empty()) region = base::text_in(got.body, "Region");
    const bool is_told = got.status == 301 || got.status == 307 || got.status == 400;
    if (!is_told || region.empty() || region == region_) return std::nullopt;
    return failure{errc::rejected, place_ + ": the bucket is not in region '" + region_ +
                                       "'; expected region=" + base::printable(region)};
}

async<bucket_answer> bucket::ask(bucket_request what, instant until) {
    const auto self = shared_from_this();
    auto target = path_ + base::percent_encode(what.object, stays_in_path);
    if (what.object.empty() && target.size() > 1) target.pop_back();
    if (!what.query.empty()) target += "?" + what.query;
    net::https_request request{what.method, std::move(target), what.body};
    request.fields = what.fields;
    request.fields.emplace_back("X-Amz-Content-Sha256", base::sha256_hex(what.body));
    auto asking = service_->ask(std::move(request), until);
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return failure{got.error().code, got.error().detail};
    bucket_answer made;
    made.response = std::move(*got);
    const auto& response = made.response;
    if (response.date) made.clock = cas::stamp{*response.date, response.asked, response.answered};
    if (response.status >= 200 && response.status < 300) co_return made;
    const auto says = read_rejection(response.status, response.body);
    if (is_failed_condition(what, says)) {
        made.end = bucket_answer::outcome::failed_condition;
        co_return made;
    }
    if (says.type == "NoSuchBucket")
        co_return failure{errc::rejected, place_ + ": there is no bucket '" + name_ +
                                              "'; create it, in region '" + region_ + "'"};
    if (says.status == 404 && !says.type.empty() && effect_of(what.method) == effect::none) {
        made.end = bucket_answer::outcome::absent;
        co_return made;
    }
    if (auto other = elsewhere(response)) co_return std::move(*other);
    co_return aws::explain_rejection(place_, service_name, says, effect_of(what.method));
}

}  // namespace pawl::s3
