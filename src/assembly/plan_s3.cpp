#include "assembly/parameters.hpp"
#include "assembly/plan_aws.hpp"
#include "assembly/planners.hpp"
#include "base/text.hpp"
#include "engines/s3/store/object_names.hpp"
#include "engines/s3/store/s3_store.hpp"

namespace pawl::assembly {
namespace {

// A server at an endpoint of its own mostly does not care; to others the region is a part of the
// signature and of the host.
std::string take_region(parameters& query) {
    auto region = query.text("region").value_or(aws::region_of_environment());
    if (region.empty() && query.text("endpoint")) region = "us-east-1";
    if (region.empty())
        throw option_error{
            "s3: takes a region; expected region=REGION, or AWS_REGION in the environment"};
    if (!aws::is_region(region))
        throw option_error{"invalid region '" + base::printable(region) +
                           "'; expected letters, digits and '-', such as eu-central-1"};
    return region;
}

}  // namespace

store_plan plan_s3(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    s3::s3_settings settings;
    settings.common = plan.settings;
    settings.skew = query.duration("skew");
    reject_credentials(url);
    if (url.endpoints.size() != 1 || url.endpoints.front().port != 0)
        throw option_error{
            "s3: takes a bucket; expected s3://BUCKET[/PREFIX], such as s3://example/pawl"};
    settings.bucket = url.endpoints.front().host;
    if (const auto fault = s3::bucket_fault(settings.bucket))
        throw option_error{"invalid bucket '" + base::printable(settings.bucket) + "'; " + *fault};
    settings.prefix = url.path;
    if (const auto fault = s3::prefix_fault(settings.prefix))
        throw option_error{"invalid prefix '" + base::printable(settings.prefix) + "'; " + *fault};
    const aws::scope where{take_region(query), "s3"};
    // The certificate of S3 is for one name before its own, and a bucket with dots has several.
    const bool by_host = !query.text("endpoint") && settings.bucket.find('.') == std::string::npos;
    settings.how = by_host ? s3::addressing::virtual_host : s3::addressing::path;
    settings.service = take_service(
        query, where, aws::endpoint_of(by_host ? settings.bucket + ".s3" : "s3", where.region));
    query.finish();
    plan.make = [settings](net::loop& loop) { return s3::make_s3_store(loop, settings); };
    return plan;
}

}  // namespace pawl::assembly
