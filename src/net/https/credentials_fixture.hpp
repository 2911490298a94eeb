// Credentials that are looked for in files and asked for at small servers.
#pragma once

#include "net/https/https_fixture.hpp"
#include "test_support/servers/process.hpp"

#include <pawl/errors.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

namespace pawl::net {

inline std::string url_of(const small_server& server) {
    return "http://127.0.0.1:" + std::to_string(server.port());
}

inline std::string rejection(const std::string& status, const std::string& body = "",
                             const std::string& fields = "") {
    return "HTTP/1.1 " + status + "\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A failure of this kind which says so, and tells no secret.
template <class Keys>
void expect_failure(const result<Keys>& got, errc code, const std::string& detail) {
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), name_of(code)) << got.error().detail;
    EXPECT_THAT(got.error().detail, ::testing::HasSubstr(detail));
    EXPECT_THAT(got.error().detail, ::testing::Not(::testing::HasSubstr("secret")));
}

// `Credentials` are made from `Settings`, and have `Keys` in the end.
template <class Credentials, class Settings, class Keys>
class CredentialsTestOf : public HttpsTest {
protected:
    result<Keys> get(const std::shared_ptr<Credentials>& from) {
        return loop_.wait_for(from->get(later()));
    }
    result<Keys> get(Settings from) { return get(Credentials::make(loop_, std::move(from))); }
    // A file with this text; gives its path.
    std::string write(const std::string& name, const std::string& text) const {
        const auto file = folder_.path() / name;
        std::ofstream{file} << text;
        return file.string();
    }

    testing_servers::temporary_folder folder_;
};

}  // namespace pawl::net
