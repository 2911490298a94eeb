#include "engines/kubernetes/client/error_mapping.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pawl::kubernetes {
namespace {

using testing::HasSubstr;

std::string status_of(const std::string& reason, const std::string& message,
                      const std::string& kind = "leases") {
    return R"({"kind": "Status", "status": "Failure", "reason": ")" + reason +
           R"(", "message": ")" + message + R"(", "details": {"kind": ")" + kind + R"("}})";
}

failure explained(verb what, unsigned status, const std::string& body,
                  const std::string& retry_after = {}) {
    auto why = explain_rejection({"kube:6443", "jobs", what}, status, body, retry_after);
    EXPECT_THAT(why.detail, testing::StartsWith("kube:6443: "));
    return why;
}

TEST(KubernetesRejections, AMissingPermissionIsNamed) {
    const auto why = explained(
        verb::create, 403,
        status_of("Forbidden", "leases.coordination.k8s.io is forbidden: User x cannot create"));
    EXPECT_EQ(why.code, errc::denied);
    EXPECT_THAT(why.detail, HasSubstr("no permission to create leases (coordination.k8s.io) in "
                                      "the namespace 'jobs'; apply the Role"));
    EXPECT_EQ(explained(verb::erase, 403, "").code, errc::denied);
    EXPECT_THAT(explained(verb::erase, 403, "").detail, HasSubstr("no permission to delete"));
}

TEST(KubernetesRejections, AQuotaAndANamespaceOnItsWayOutAreNoPermissions) {
    EXPECT_EQ(explained(verb::create, 403, status_of("Forbidden", "exceeded quota: few")).code,
              errc::rejected);
    EXPECT_EQ(
        explained(verb::create, 403, status_of("Forbidden", "namespace jobs is being terminated"))
            .code,
        errc::rejected);
    EXPECT_EQ(
        explained(verb::create, 403, status_of("Forbidden", "not yet ready to handle request"))
            .code,
        errc::unreachable);
}

TEST(KubernetesRejections, AnUnknownTokenIsDenied) {
    EXPECT_EQ(explained(verb::get, 401, status_of("Unauthorized", "Unauthorized")).code,
              errc::denied);
}

TEST(KubernetesRejections, WhatIsMissingIsToldFromWhatIsElsewhere) {
    const auto lease = status_of("NotFound", "leases x not found");
    EXPECT_TRUE(is_missing_object(404, lease));
    EXPECT_FALSE(is_missing_object(200, lease));
    const auto name_space = status_of("NotFound", "namespaces jobs not found", "namespaces");
    EXPECT_FALSE(is_missing_object(404, name_space));
    EXPECT_THAT(explained(verb::create, 404, name_space).detail,
                HasSubstr("the namespace 'jobs' does not exist; create it"));
    EXPECT_FALSE(is_missing_object(404, "404 page not found"));
    EXPECT_EQ(explained(verb::get, 404, "404 page not found").code, errc::protocol);
}

// Turned away before it was carried out.
TEST(KubernetesRejections, TooManyRequestsHadNoEffect) {
    const auto why = explained(verb::patch, 429, "", "2");
    EXPECT_EQ(why.code, errc::unreachable);
    EXPECT_THAT(why.detail, HasSubstr("too many requests, asked to wait 2 s"));
    EXPECT_EQ(explained(verb::patch, 425, "").code, errc::unreachable);
}

TEST(KubernetesRejections, AServerInTroubleMayHaveWritten) {
    // A balancer before it says 408.
    for (const unsigned status : {408u, 500u, 502u, 503u, 504u}) {
        EXPECT_EQ(explained(verb::patch, status, "").code, errc::outcome_unknown);
        EXPECT_EQ(explained(verb::get, status, "").code, errc::unreachable);
        EXPECT_EQ(explained(verb::watch, status, "").code, errc::unreachable);
    }
}

TEST(KubernetesRejections, TheServersWordsAreOneLineWithABound) {
    const auto why =
        explained(verb::create, 422, status_of("Invalid", "a\\nb" + std::string(2000, 'x')));
    EXPECT_EQ(why.code, errc::rejected);
    EXPECT_LT(why.detail.size(), 400u);
    EXPECT_EQ(why.detail.find('\n'), std::string::npos);
    EXPECT_EQ(explained(verb::get, 302, "<html>").code, errc::protocol);
}

}  // namespace
}  // namespace pawl::kubernetes
