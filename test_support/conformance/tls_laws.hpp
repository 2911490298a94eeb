// What a store makes of the certificate of its server, whatever the server is.
//
// An engine has its types `server`, `options` and `settings`, and
//     settings on_port(port);            // plain, so far
//     port tls_port(server);
//     std::string& host_of(settings);
//     client open(settings);
//     void expect_rejection(settings, code, words);
#pragma once

#include "net/tls.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/servers/certificates.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace pawl::conformance {

// One server for all tests that do not want another.
template <class Engine>
class TlsLaws : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        keys_ = std::make_shared<const testing_servers::certificates>();
        server_ = std::make_unique<typename Engine::server>(options());
    }
    static void TearDownTestSuite() {
        server_.reset();
        keys_.reset();
    }

    static typename Engine::options options() {
        typename Engine::options with;
        with.tls = keys_;
        return with;
    }
    static typename Engine::settings settings(std::uint16_t port) {
        auto to = Engine::on_port(port);
        to.tls = net::tls_settings{keys_->ca(), {}, {}, {}};
        return to;
    }
    static typename Engine::settings settings() { return settings(Engine::tls_port(*server_)); }
    static const testing_servers::certificates& keys() { return *keys_; }
    static typename Engine::server& server() { return *server_; }

private:
    static inline std::shared_ptr<const testing_servers::certificates> keys_;
    static inline std::unique_ptr<typename Engine::server> server_;
};

TYPED_TEST_SUITE_P(TlsLaws);

TYPED_TEST_P(TlsLaws, AVerifiedServerIsUsedByItsAddressAndByItsName) {
    auto by_address = TypeParam::open(this->settings());
    const auto token = by_address.granted(fresh_claim("key"));
    auto to = this->settings();
    TypeParam::host_of(to) = "localhost";
    auto by_name = TypeParam::open(to);
    EXPECT_EQ(by_name.show("key").holder, token);
    EXPECT_EQ(by_address.renew(lease_of("key", token)), renewal::renewed);
    auto woke = by_name.start_waiting("key", token, 10s);
    by_name.until_waiters("key", 1);
    EXPECT_TRUE(yes(by_address.release("key", token)));
    EXPECT_EQ(woke.get(), wait_end::changed);
}

TYPED_TEST_P(TlsLaws, AnUnknownAuthorityIsDenied) {
    auto to = this->settings();
    to.tls->ca = this->keys().other_ca();
    TypeParam::expect_rejection(to, errc::denied, "certificate is rejected");
    to.tls->ca.clear();
    TypeParam::expect_rejection(to, errc::denied, "certificate is rejected");
}

TYPED_TEST_P(TlsLaws, ACertificateForAnotherNameIsDenied) {
    auto to = this->settings();
    to.tls->server_name = "store.example.com";
    TypeParam::expect_rejection(to, errc::denied, "ostname mismatch");
}

TYPED_TEST_P(TlsLaws, AFileThatCannotBeReadIsDeniedAndNamed) {
    auto to = this->settings();
    to.tls->ca += ".missing";
    TypeParam::expect_rejection(to, errc::denied, ".missing");
}

TYPED_TEST_P(TlsLaws, AnExpiredCertificateIsDenied) {
    auto with = this->options();
    with.tls_expired = true;
    typename TypeParam::server expired{with};
    TypeParam::expect_rejection(this->settings(TypeParam::tls_port(expired)), errc::denied,
                                "expired");
}

TYPED_TEST_P(TlsLaws, AServerThatAsksForACertificateGetsOurs) {
    auto with = this->options();
    with.tls_wants_client = true;
    typename TypeParam::server strict{with};
    auto to = this->settings(TypeParam::tls_port(strict));
    to.tls->certificate = this->keys().client();
    to.tls->key = this->keys().client_key();
    EXPECT_GT(number(TypeParam::open(to).granted(fresh_claim("key"))), 0u);
    to.tls->certificate.clear();
    to.tls->key.clear();
    TypeParam::expect_rejection(to, errc::denied, "certificate");
}

REGISTER_TYPED_TEST_SUITE_P(TlsLaws, AVerifiedServerIsUsedByItsAddressAndByItsName,
                            AnUnknownAuthorityIsDenied, ACertificateForAnotherNameIsDenied,
                            AFileThatCannotBeReadIsDeniedAndNamed, AnExpiredCertificateIsDenied,
                            AServerThatAsksForACertificateGetsOurs);

}  // namespace pawl::conformance
