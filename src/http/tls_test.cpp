// TLS as its clients meet it: certificates from files that are replaced while the server runs.
#include "http/http_fixture.hpp"
#include "test_support/servers/certificates.hpp"

#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <filesystem>
#include <fstream>
#include <future>

namespace pawl::http {
namespace {

using ::testing::HasSubstr;

const testing_servers::certificates& files() {
    static const testing_servers::certificates made;
    return made;
}

tls_identity own_identity() { return {files().server(), files().server_key()}; }

// Of another subject: the authority's own, whose key lies beside it.
tls_identity other_identity() {
    const std::filesystem::path authority{files().ca()};
    return {authority.string(), (authority.parent_path() / "ca.key").string()};
}

// Blocks. The version and the protocols are as given; the certificate has to be of the authority.
class tls_client {
public:
    explicit tls_client(std::uint16_t port, int version = 0, std::string protocols = {},
                        const char* suites = nullptr)
        : raw_{port}, context_{SSL_CTX_new(TLS_client_method())}, session_{nullptr} {
        SSL_CTX_load_verify_locations(context_, files().ca().c_str(), nullptr);
        SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
        if (version != 0) {
            SSL_CTX_set_min_proto_version(context_, version);
            SSL_CTX_set_max_proto_version(context_, version);
            // What is too old is rejected by the client as well unless it is told not to.
            SSL_CTX_set_security_level(context_, 0);
        }
        if (suites != nullptr) {
            EXPECT_EQ(SSL_CTX_set_cipher_list(context_, suites), 1) << suites;
        }
        session_ = SSL_new(context_);
        if (!protocols.empty())
            SSL_set_alpn_protos(session_, reinterpret_cast<const unsigned char*>(protocols.data()),
                                static_cast<unsigned>(protocols.size()));
        SSL_set_fd(session_, raw_.descriptor());
        connected_ = SSL_connect(session_) == 1;
    }
    ~tls_client() {
        SSL_free(session_);
        SSL_CTX_free(context_);
    }
    tls_client(const tls_client&) = delete;
    tls_client& operator=(const tls_client&) = delete;

    bool is_connected() const noexcept { return connected_; }
    std::string version() const { return SSL_get_version(session_); }
    std::string protocol() const {
        const unsigned char* name = nullptr;
        unsigned bytes = 0;
        SSL_get0_alpn_selected(session_, &name, &bytes);
        return {reinterpret_cast<const char*>(name), bytes};
    }
    // Empty where the certificate was none for a server.
    std::string subject() const {
        if (!connected_) return {};
        auto* shown = SSL_get1_peer_certificate(session_);
        char text[256] = {};
        X509_NAME_oneline(X509_get_subject_name(shown), text, sizeof text);
        X509_free(shown);
        return text;
    }
    void send(std::string_view bytes) {
        SSL_write(session_, bytes.data(), static_cast<int>(bytes.size()));
    }
    std::string read_until(std::string_view end) {
        std::string got;
        char bytes[4096];
        while (got.find(end) == std::string::npos) {
            const int count = SSL_read(session_, bytes, sizeof bytes);
            if (count <= 0) break;
            got.append(bytes, static_cast<std::size_t>(count));
        }
        return got;
    }
    // True where the other side has said that it is the end, as TLS has it.
    bool is_at_end() {
        char one = 0;
        return SSL_read(session_, &one, 1) <= 0 &&
               SSL_get_error(session_, 0) == SSL_ERROR_ZERO_RETURN;
    }
    raw_client& raw() noexcept { return raw_; }

private:
    raw_client raw_;
    SSL_CTX* context_;
    SSL* session_;
    bool connected_ = false;
};

result<void> use_tls(trial_server& server, tls_identity identity) {
    return server.on_loop<result<void>>([&] { return server.served().use_tls(identity); });
}

TEST(Tls, RequestsAndResponsesAreTheSame) {
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    tls_client client{server.listen()};
    ASSERT_TRUE(client.is_connected());
    EXPECT_EQ(client.version(), "TLSv1.3");
    for (int i = 0; i < 3; ++i) {
        client.send(post("/", "body"));
        EXPECT_THAT(client.read_until("POST /? body"), HasSubstr("200 OK"));
    }
    client.send(get("/", "Connection: close\r\n"));
    client.read_until("GET /? ");
    EXPECT_TRUE(client.is_at_end());
}

// More than a record, more than a socket takes, in both directions.
TEST(Tls, LargeBodiesComeWhole) {
    limits bounds;
    bounds.body_bytes_max = 10'000'000;
    trial_server server{echo, bounds};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    tls_client client{server.listen()};
    const std::string body(5'000'000, 'x');
    client.send(post("/", body + "end"));
    EXPECT_THAT(client.read_until(body + "end"), ::testing::EndsWith(body + "end"));
}

TEST(Tls, TheHandlerKnowsThatItIsSecure) {
    trial_server server{
        [](std::shared_ptr<const request> asked) -> boost::asio::awaitable<response> {
            co_return response{asked->secure && asked->from_loopback ? 200U : 400U};
        }};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    tls_client client{server.listen()};
    client.send(get("/"));
    EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr(" 200 "));
}

TEST(Tls, Version12IsSpokenAndOlderOnesAreNot) {
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    const auto port = server.listen();
    EXPECT_TRUE(tls_client(port, TLS1_2_VERSION).is_connected());
    EXPECT_FALSE(tls_client(port, TLS1_1_VERSION).is_connected());
    EXPECT_EQ(server.counts().malformed, 1U);
}

// A key that leaks later opens nothing that was recorded, and nothing is encrypted unauthenticated.
TEST(Tls, OfVersion12OnlySuitesWithForwardSecrecyAndAuthenticationAreSpoken) {
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    const auto port = server.listen();
    for (const auto* good : {"ECDHE+AESGCM", "ECDHE+CHACHA20"})
        EXPECT_TRUE((tls_client{port, TLS1_2_VERSION, {}, good}.is_connected())) << good;
    for (const auto* bad : {"kRSA+AESGCM", "kRSA+AES", "ECDHE+AES:!AESGCM:!AESCCM", "DHE"})
        EXPECT_FALSE((tls_client{port, TLS1_2_VERSION, {}, bad}.is_connected())) << bad;
}

TEST(Tls, OnlyHttp11IsAgreedOn) {
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    const auto port = server.listen();
    EXPECT_EQ(tls_client(port, 0, "\x02h2\x08http/1.1").protocol(), "http/1.1");
    EXPECT_FALSE(tls_client(port, 0, "\x02h2").is_connected());
}

TEST(Tls, AClientOfPlainHttpIsToldWhatIsSpoken) {
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    raw_client client{server.listen()};
    const auto got = client.ask(get("/"));
    EXPECT_EQ(got.status, 400U);
    EXPECT_THAT(got.body, HasSubstr("https://"));
}

TEST(Tls, AHandshakeHasItsTime) {
    limits bounds;
    bounds.handshake_wait = millis{50};
    trial_server server{echo, bounds};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    const auto port = server.listen();
    raw_client silent{port}, begun{port};
    begun.send("\x16\x03\x01\x02");
    EXPECT_TRUE(silent.is_at_end());
    EXPECT_TRUE(begun.is_at_end());
    EXPECT_EQ(server.counts().timed_out, 2U);
}

TEST(Tls, NoiseInsteadOfRecordsEndsTheConnection) {
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    const auto port = server.listen();
    raw_client noisy{port};
    noisy.send(std::string{"\x16\x03\x01\0\x05", 5} + std::string(64, '\x80'));
    noisy.read_all();
    // In the midst of a connection as well.
    tls_client later{port};
    later.send(get("/"));
    later.read_until("GET /? ");
    later.raw().send(std::string(64, 'x'));
    later.raw().read_all();
    server.await_counts([](const server_counts& now) { return now.connections == 0; });
}

TEST(Tls, AStreamHearsThatItsClientHasGone) {
    std::promise<void> heard;
    trial_server server{[&](std::shared_ptr<const request>) -> boost::asio::awaitable<response> {
        response answered{200};
        answered.stream = [&](std::shared_ptr<body_stream> out) -> boost::asio::awaitable<void> {
            auto writing = out->write(std::make_shared<const std::string>("first"));
            EXPECT_TRUE(co_await std::move(writing));
            auto waiting = until_gone(out->gone());
            co_await std::move(waiting);
            heard.set_value();
        };
        co_return answered;
    }};
    ASSERT_TRUE(use_tls(server, own_identity()).has_value());
    {
        tls_client client{server.listen()};
        client.send(get("/"));
        EXPECT_THAT(client.read_until("first"), HasSubstr("200 OK"));
    }
    EXPECT_EQ(heard.get_future().wait_for(std::chrono::seconds{seconds_at_most}),
              std::future_status::ready);
}

TEST(Tls, FilesThatAreWrongAreNamedInOneLine) {
    trial_server server{echo};
    const auto fault_of = [&](tls_identity identity) {
        const auto answered = use_tls(server, identity);
        EXPECT_EQ(answered.error().code, errc::denied);
        EXPECT_EQ(answered.error().detail.find('\n'), std::string::npos);
        return answered.error().detail;
    };
    EXPECT_EQ(fault_of({"/none", files().server_key()}),
              "/none: the TLS certificate cannot be used: No such file or directory");
    EXPECT_EQ(fault_of({files().server(), "/none"}),
              "/none: the TLS key cannot be used: No such file or directory");
    EXPECT_THAT(fault_of({files().server(), files().client_key()}),
                HasSubstr(": the TLS key cannot be used: "));
    EXPECT_THAT(fault_of({files().server_key(), files().server_key()}),
                HasSubstr(": the TLS certificate cannot be used: "));
    EXPECT_THAT(fault_of({files().expired(), files().expired_key()}),
                HasSubstr("its time is over: renew it"));
    EXPECT_EQ(use_tls(server, own_identity()).has_value(), true);
}

// Copies of the files, which a test may replace.
struct replaceable {
    replaceable() { put(files().server(), files().server_key()); }
    void put(const std::string& from_certificate, const std::string& from_key) {
        for (const auto& [from, to] :
             {std::pair{from_certificate, certificate()}, std::pair{from_key, key()}}) {
            std::filesystem::copy_file(from, to + ".new",
                                       std::filesystem::copy_options::overwrite_existing);
            std::filesystem::rename(to + ".new", to);
        }
    }
    std::string certificate() const { return (folder.path() / "own.crt").string(); }
    std::string key() const { return (folder.path() / "own.key").string(); }
    testing_servers::temporary_folder folder;
};

void await_subject(std::uint16_t port, std::string_view wanted) {
    const auto end = lease_clock::now() + std::chrono::seconds{seconds_at_most};
    for (std::string shown; shown.find(wanted) == std::string::npos;) {
        ASSERT_LT(lease_clock::now(), end) << shown;
        shown = tls_client{port}.subject();
    }
}

TEST(Tls, ANewCertificateIsShownAsSoonAsItIsThere) {
    replaceable own;
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, {own.certificate(), own.key()}).has_value());
    const auto port = server.listen();
    tls_client before{port};
    EXPECT_THAT(before.subject(), HasSubstr("localhost"));
    own.put(other_identity().certificate, other_identity().key);
    await_subject(port, "CN=ca");
    // Connections that were there go on with what they began with.
    before.send(get("/"));
    EXPECT_THAT(before.read_until("GET /? "), HasSubstr("200 OK"));
    EXPECT_TRUE(server.warnings().empty());
}

TEST(Tls, ANewCertificateThatIsWrongIsSaidOnceAndTheOldOneStays) {
    replaceable own;
    trial_server server{echo};
    ASSERT_TRUE(use_tls(server, {own.certificate(), own.key()}).has_value());
    const auto port = server.listen();
    std::ofstream{own.certificate()} << "no certificate at all\n";
    server.await_counts([&](const server_counts&) {
        EXPECT_THAT(tls_client{port}.subject(), HasSubstr("localhost"));
        return !server.warnings().empty();
    });
    // It is looked at again, and nothing has changed.
    const auto end = lease_clock::now() + millis{1'500};
    while (lease_clock::now() < end) EXPECT_TRUE(tls_client{port}.is_connected());
    ASSERT_EQ(server.warnings().size(), 1U);
    EXPECT_THAT(server.warnings()[0], HasSubstr(own.certificate()));
    EXPECT_THAT(server.warnings()[0], HasSubstr("the old one stays"));
    own.put(other_identity().certificate, other_identity().key);
    await_subject(port, "CN=ca");
}

}  // namespace
}  // namespace pawl::http
