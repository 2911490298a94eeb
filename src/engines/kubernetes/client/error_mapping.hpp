// What the statuses of an API server mean for a caller.
#pragma once

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::kubernetes {

// What a request wants of the Lease objects, in the words of RBAC; or a review of what we may do.
enum class verb { get, list, watch, create, patch, erase, review };
std::string_view name_of(verb what) noexcept;
constexpr bool only_reads(verb what) noexcept {
    return what == verb::get || what == verb::list || what == verb::watch || what == verb::review;
}

// One request: who was asked, and for what.
struct request_place {
    std::string server;      // begins every detail of a failure
    std::string name_space;  // of Kubernetes
    verb what = verb::get;
};

// What the server's `Status` document says; empty texts where it says nothing, or it is none.
struct status_words {
    std::string reason;   // such as AlreadyExists
    std::string message;  // for people
    std::string kind;     // of what the message is about, such as namespaces
};
status_words read_status(std::string_view body);

// REQUIRES: `status` is no success. What the caller handles itself (404 of a lease, 409, 410) is
// explained as well, for where it does not.
failure explain_rejection(const request_place& asked, unsigned status, std::string_view body,
                          std::string_view retry_after);

// Whether a 404 is of the object that was asked for, and not of the API or of the namespace.
bool is_missing_object(unsigned status, std::string_view body);

}  // namespace pawl::kubernetes
