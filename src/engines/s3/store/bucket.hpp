// The bucket, and how it is asked. On the loop only.
#pragma once

#include "engines/aws/client/error_mapping.hpp"
#include "engines/aws/client/service.hpp"
#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace pawl::s3 {

using aws::effect;

// Whether the bucket is a part of the host's name, or of the path.
enum class addressing { virtual_host, path };

// A class with a constructor: g++ 12 destroys aggregate temporaries with strings twice inside
// co_await.
struct bucket_request {
    bucket_request(std::string method, std::string object, std::string body = {})
        : method{std::move(method)}, object{std::move(object)}, body{std::move(body)} {}

    std::string method;
    std::string object;  // its name; empty: the bucket itself
    std::string body;
    std::string query{};  // percent-encoded
    net::http_fields fields{};
};

struct bucket_answer {
    enum class outcome {
        done,
        absent,           // there is no such object, or no such setting of the bucket
        failed_condition  // nothing was done
    };
    outcome end = outcome::done;
    net::https_response response;
    std::optional<cas::stamp> clock;
};

class bucket : public std::enable_shared_from_this<bucket> {
public:
    bucket(std::shared_ptr<aws::service> service, std::string region, std::string name,
           addressing how);

    // s3://BUCKET.
    const std::string& place() const noexcept { return place_; }
    aws::service& service() const noexcept { return *service_; }

    async<bucket_answer> ask(bucket_request what, instant until);

private:
    std::optional<failure> elsewhere(const net::https_response& got) const;

    // Constant after construction
    const std::shared_ptr<aws::service> service_;
    const std::string region_;
    const std::string name_;
    const std::string place_;
    const std::string path_;  // before an object's name, from the first '/' on
};

// Of the XML of an answer. The type is empty where it is no error of S3's.
aws::rejection read_rejection(unsigned status, std::string_view body);

}  // namespace pawl::s3
