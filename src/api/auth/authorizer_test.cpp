#include "api/auth/authorizer.hpp"

#include "api/auth/token.hpp"
#include "test_support/stopped_clock.hpp"

#include <boost/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
using config::user_role;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr hash_costs cheap{.memory_kib = 8, .passes = 1};
const std::string session_path = "/api/v1/session";

struct asking {
    std::string method = "GET";
    std::string path = session_path;
    std::vector<http::field> fields{};
    std::string body{};
    std::string query{};
    std::string peer = "192.0.2.1";
    bool from_loopback = false;
    bool secure = false;
};

std::shared_ptr<const http::request> request_of(const asking& what) {
    auto made = std::make_shared<http::request>();
    made->method = what.method;
    made->path = what.path;
    made->fields = what.fields;
    if (!what.body.empty()) made->fields.push_back({"content-type", "application/json"});
    made->body = what.body;
    made->peer = what.peer;
    made->from_loopback = what.from_loopback;
    made->secure = what.secure;
    return made;
}

awaitable<admission> admit(std::shared_ptr<authorizer> auth,
                           std::shared_ptr<const http::request> request, access needs) {
    auto admitting = auth->admit(std::move(request), needs);
    co_return co_await std::move(admitting);
}

// As the API does it.
awaitable<http::response> answer(std::shared_ptr<authorizer> auth, route which,
                                 std::shared_ptr<const http::request> request,
                                 http::parameters query) {
    auto admitting = auth->admit(request, which.needs);
    auto admitted = co_await std::move(admitting);
    if (auto* rejected = std::get_if<http::response>(&admitted)) co_return std::move(*rejected);
    auto what = std::make_shared<call>();
    what->request = request;
    what->query = std::move(query);
    what->who = std::get<caller>(admitted);
    auto answering = which.answer(std::move(what));
    co_return co_await std::move(answering);
}

awaitable<bool> still_admits(std::shared_ptr<authorizer> auth,
                             std::shared_ptr<const http::request> request, access needs) {
    co_return auth->still_admits(*request, needs);
}

awaitable<bool> show_link(std::shared_ptr<authorizer> auth) {
    auth->show_login_link();
    co_return true;
}

std::string field_of(const http::response& from, std::string_view name) {
    for (const auto& one : from.fields)
        if (one.name == name) return one.value;
    return {};
}

std::string cookie_of(const http::response& from) {
    const auto set = field_of(from, "Set-Cookie");
    return set.substr(0, set.find(';'));
}

std::string text_in(const http::response& from, std::string_view member) {
    return std::string{boost::json::parse(from.body).at(member).as_string()};
}

class Authorizer : public testing::Test {
protected:
    config::user_settings user(const std::string& name, user_role role, const std::string& token) {
        config::user_settings one;
        one.name = name;
        one.role = role;
        one.token_hash = hash_of(token, cheap);
        return one;
    }

    void open(std::vector<config::user_settings> users) {
        authorizer::parts parts;
        parts.loop = &where;
        parts.users = std::move(users);
        parts.show_link = [this](const login_key& key, std::string_view link) {
            keep(links, std::string{link});
            keep(keys, text_of(key));
        };
        parts.audit = [this](const std::string& actor, const std::string& action,
                             const std::string& detail) {
            keep(audited, actor + " " + action + " " + detail);
        };
        auth = std::make_shared<authorizer>(std::move(parts));
        auth->set_origin("http://127.0.0.1:7295");
    }
    void open_for_all() {
        open({user("vera", user_role::viewer, veras), user("carl", user_role::client, carls),
              user("otto", user_role::operator_, ottos), user("anna", user_role::admin, annas)});
    }

    http::response ask(const asking& what) {
        for (const auto& one : auth->session_routes()) {
            if (one.method != what.method &&
                !(what.method == "HEAD" && one.method == "GET" && one.pattern == what.path))
                continue;
            if (one.pattern != what.path) continue;
            http::parameters query;
            if (!what.query.empty()) query["once"] = what.query;
            return where.wait_for(answer(auth, one, request_of(what), std::move(query)));
        }
        ADD_FAILURE() << "no route " << what.method << ' ' << what.path;
        return {};
    }
    // 200 when let in, else the status of the rejection.
    unsigned status_of(const asking& what, access needs) {
        const auto got = where.wait_for(admit(auth, request_of(what), needs));
        const auto* rejected = std::get_if<http::response>(&got);
        return rejected == nullptr ? 200 : rejected->status;
    }
    caller who_is(const asking& what, access needs) {
        const auto got = where.wait_for(admit(auth, request_of(what), needs));
        const auto* who = std::get_if<caller>(&got);
        return who == nullptr ? caller{} : *who;
    }
    bool stays(const asking& what, access needs = access::viewer) {
        return where.wait_for(still_admits(auth, request_of(what), needs));
    }

    static asking bearer(const std::string& token, std::string method = "GET") {
        asking one;
        one.method = std::move(method);
        one.fields = {{"authorization", "Bearer " + token}};
        return one;
    }
    static asking log_in(const std::string& token) {
        asking one;
        one.method = "POST";
        one.body = boost::json::serialize(boost::json::object{{"token", token}});
        return one;
    }
    static asking with_cookie(const http::response& from, std::string method = "GET") {
        asking one;
        one.method = std::move(method);
        one.fields = {{"cookie", cookie_of(from)}};
        return one;
    }
    static asking with_csrf(const http::response& from, std::string method) {
        auto one = with_cookie(from, std::move(method));
        one.fields.push_back({"x-pawl-session", text_in(from, "csrf")});
        return one;
    }
    std::string fresh_link() {
        where.wait_for(show_link(auth));
        return take(links).at(0);
    }
    static asking by_link(const std::string& link) {
        asking one;
        one.path = "/login";
        one.query = link.substr(link.find("once=") + 5);
        one.peer = "127.0.0.1";
        one.from_loopback = true;
        return one;
    }

    void keep(std::vector<std::string>& where_to, std::string line) {
        const std::lock_guard lock{mutex};
        where_to.push_back(std::move(line));
    }
    std::vector<std::string> take(std::vector<std::string>& from) {
        const std::lock_guard lock{mutex};
        return std::exchange(from, {});
    }

    std::mutex mutex;
    std::vector<std::string> links;    // under mutex
    std::vector<std::string> keys;     // under mutex
    std::vector<std::string> audited;  // under mutex
    // However long a busy machine takes, the wait after a guess is not over.
    stopped_clock clock;
    net::loop where{net::turned_by{&clock}};
    std::shared_ptr<authorizer> auth;
    const std::string veras = fresh_token("vera");
    const std::string carls = fresh_token("carl");
    const std::string ottos = fresh_token("otto");
    const std::string annas = fresh_token("anna");
};

// Each may what those before may: every role and every need.
TEST_F(Authorizer, RolesAreInOrder) {
    open_for_all();
    const std::vector<std::pair<access, std::vector<unsigned>>> expected{
        {access::open, {200, 200, 200, 200, 200}},
        {access::viewer, {401, 200, 200, 200, 200}},
        {access::client, {401, 403, 200, 200, 200}},
        {access::operator_, {401, 403, 403, 200, 200}},
        {access::admin, {401, 403, 403, 403, 200}}};
    for (const auto& [needs, statuses] : expected) {
        EXPECT_EQ(status_of({}, needs), statuses[0]);
        EXPECT_EQ(status_of(bearer(veras), needs), statuses[1]);
        EXPECT_EQ(status_of(bearer(carls, "POST"), needs), statuses[2]);
        EXPECT_EQ(status_of(bearer(ottos, "POST"), needs), statuses[3]);
        EXPECT_EQ(status_of(bearer(annas, "DELETE"), needs), statuses[4]);
    }
}

TEST_F(Authorizer, ARejectionSaysWhatIsMissing) {
    open_for_all();
    auto got = where.wait_for(admit(auth, request_of({}), access::viewer));
    const auto unnamed = std::get<http::response>(got);
    EXPECT_EQ(unnamed.status, 401u);
    EXPECT_EQ(field_of(unnamed, "WWW-Authenticate"), "Bearer realm=\"pawl\"");
    EXPECT_THAT(text_in(unnamed, "detail"), HasSubstr("Authorization: Bearer"));
    got = where.wait_for(admit(auth, request_of(bearer(fresh_token("x"))), access::viewer));
    const auto wrong = std::get<http::response>(got);
    EXPECT_EQ(wrong.status, 401u);
    EXPECT_EQ(field_of(wrong, "WWW-Authenticate"),
              "Bearer realm=\"pawl\", error=\"invalid_token\"");
    got = where.wait_for(admit(auth, request_of(bearer(veras)), access::admin));
    const auto low = std::get<http::response>(got);
    EXPECT_EQ(low.status, 403u);
    EXPECT_THAT(text_in(low, "detail"),
                AllOf(HasSubstr("role admin"), HasSubstr("'vera'"), HasSubstr("viewer")));
}

TEST_F(Authorizer, WhoGuessesIsToldHowLongToWait) {
    open_for_all();
    for (int i = 0; i < 11; ++i)
        EXPECT_EQ(status_of(bearer(fresh_token("anna")), access::viewer), 401u);
    const auto got =
        where.wait_for(admit(auth, request_of(bearer(fresh_token("anna"))), access::viewer));
    const auto& rejected = std::get<http::response>(got);
    EXPECT_EQ(rejected.status, 429u);
    EXPECT_EQ(field_of(rejected, "Retry-After"), "1");
    EXPECT_EQ(ask(log_in(annas)).status, 429u);
}

TEST_F(Authorizer, AnOpenRouteTellsWhoAsksWhereItIsKnown) {
    open_for_all();
    EXPECT_EQ(who_is({}, access::open).name, "");
    EXPECT_EQ(who_is(bearer(annas), access::open).name, "") << "it would take a hash";
    EXPECT_EQ(status_of(bearer(annas), access::viewer), 200u);
    EXPECT_EQ(who_is(bearer(annas), access::open).name, "anna");
    EXPECT_EQ(status_of(bearer("nonsense"), access::open), 200u);
}

TEST_F(Authorizer, ATokenBecomesASession) {
    open_for_all();
    const auto begun = ask(log_in(ottos));
    ASSERT_EQ(begun.status, 200u) << begun.body;
    EXPECT_EQ(text_in(begun, "name"), "otto");
    EXPECT_EQ(text_in(begun, "role"), "operator");
    EXPECT_THAT(text_in(begun, "expires_at"), HasSubstr("Z"));
    EXPECT_THAT(
        field_of(begun, "Set-Cookie"),
        AllOf(StartsWith("pawl_session="), HasSubstr("; HttpOnly"), HasSubstr("; SameSite=Strict"),
              HasSubstr("; Path=/"), HasSubstr("; Max-Age=43200"), Not(HasSubstr("Secure"))));
    EXPECT_EQ(field_of(begun, "Cache-Control"), "no-store");
    EXPECT_THAT(begun.body, Not(HasSubstr(cookie_of(begun).substr(13))));

    const auto told = ask(with_cookie(begun));
    EXPECT_EQ(told.status, 200u);
    EXPECT_EQ(text_in(told, "name"), "otto");
    EXPECT_EQ(who_is(with_cookie(begun), access::operator_).name, "otto");
    EXPECT_EQ(status_of(with_cookie(begun), access::admin), 403u);
    EXPECT_EQ(status_of(with_cookie({}), access::viewer), 401u);
}

TEST_F(Authorizer, OverTlsTheCookieStaysThere) {
    open_for_all();
    auto secure = log_in(annas);
    secure.secure = true;
    const auto begun = ask(secure);
    EXPECT_THAT(field_of(begun, "Set-Cookie"), HasSubstr("; Secure"));
    // Without the prefix it may be one that another host of the domain has set.
    EXPECT_THAT(cookie_of(begun), StartsWith("__Host-pawl_session="));
    auto returned = with_cookie(begun);
    returned.secure = true;
    EXPECT_EQ(status_of(returned, access::admin), 200u);
    returned.fields.back().value = cookie_of(begun).substr(std::string{"__Host-"}.size());
    EXPECT_EQ(status_of(returned, access::viewer), 401u);
}

TEST_F(Authorizer, ABearerIsToldWhoItIsWithoutACsrf) {
    open_for_all();
    const auto told = ask(bearer(veras));
    EXPECT_EQ(text_in(told, "name"), "vera");
    EXPECT_EQ(text_in(told, "csrf"), "");
    EXPECT_TRUE(boost::json::parse(told.body).at("expires_at").is_null());
    EXPECT_EQ(ask({}).status, 401u);
}

// Browsers send a cookie to every port of its host: who serves another one gets no more by it.
TEST_F(Authorizer, ACookieIsNotToldTheSessionsToken) {
    open_for_all();
    const auto begun = ask(log_in(annas));
    const auto other = ask(log_in(annas));
    const auto csrf = text_in(begun, "csrf");
    EXPECT_EQ(csrf.size(), secret_letters);
    EXPECT_EQ(text_in(ask(with_cookie(begun)), "csrf"), "");
    EXPECT_THAT(ask(with_cookie(begun)).body, Not(HasSubstr(csrf)));
    auto wrong = with_csrf(other, "GET");
    wrong.fields[0] = {"cookie", cookie_of(begun)};
    EXPECT_EQ(text_in(ask(wrong), "csrf"), "");
    EXPECT_EQ(text_in(ask(with_csrf(begun, "GET")), "csrf"), csrf) << "a holder of it keeps it";
}

// The cookie alone, which a browser sends by itself, changes nothing.
TEST_F(Authorizer, WhatIsDoneByCookieCarriesTheSessionsToken) {
    open_for_all();
    const auto begun = ask(log_in(annas));
    const auto other = ask(log_in(annas));
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH"}) {
        EXPECT_EQ(status_of(with_cookie(begun, method), access::viewer), 403u) << method;
        EXPECT_EQ(status_of(with_csrf(begun, method), access::admin), 200u) << method;
        auto wrong = with_csrf(other, method);
        wrong.fields[0] = {"cookie", cookie_of(begun)};
        EXPECT_EQ(status_of(wrong, access::viewer), 403u) << method;
        auto empty = with_cookie(begun, method);
        empty.fields.push_back({"x-pawl-session", ""});
        EXPECT_EQ(status_of(empty, access::viewer), 403u) << method;
    }
    for (const char* method : {"GET", "HEAD"})
        EXPECT_EQ(status_of(with_cookie(begun, method), access::admin), 200u) << method;
    // A web UI of before the update shows what it is told, and can neither log in nor out.
    const auto got =
        where.wait_for(admit(auth, request_of(with_cookie(begun, "POST")), access::viewer));
    EXPECT_THAT(text_in(std::get<http::response>(got), "detail"),
                HasSubstr("load the web UI again"));
    // Where no caller has to say who they are, the cookie alone does not either.
    EXPECT_EQ(who_is(with_cookie(begun, "POST"), access::open).name, "");
    EXPECT_EQ(who_is(with_cookie(begun), access::open).name, "anna");
}

TEST_F(Authorizer, AnotherSitesPageChangesNothing) {
    open_for_all();
    const auto begun = ask(log_in(annas));
    for (const http::field& one : std::vector<http::field>{{"sec-fetch-site", "cross-site"},
                                                           {"sec-fetch-site", "same-site"},
                                                           {"origin", "http://evil.example"},
                                                           {"origin", "null"}}) {
        auto done = with_csrf(begun, "POST");
        done.fields.push_back(one);
        done.fields.push_back({"host", "127.0.0.1:7295"});
        EXPECT_EQ(status_of(done, access::viewer), 403u) << one.value;
        auto logging_in = log_in(annas);
        logging_in.fields.push_back(one);
        logging_in.fields.push_back({"host", "127.0.0.1:7295"});
        EXPECT_EQ(ask(logging_in).status, 403u) << one.value;
    }
    auto own = with_csrf(begun, "POST");
    own.fields.push_back({"origin", "http://127.0.0.1:7295"});
    own.fields.push_back({"host", "127.0.0.1:7295"});
    EXPECT_EQ(status_of(own, access::admin), 200u);
}

TEST_F(Authorizer, AWrongTokenIsNotHelpedByACookie) {
    open_for_all();
    auto both = with_cookie(ask(log_in(annas)));
    both.fields.push_back({"authorization", "Bearer " + fresh_token("anna")});
    EXPECT_EQ(status_of(both, access::viewer), 401u);
    // Another scheme is a proxy's business.
    both.fields.back().value = "Basic YTpi";
    EXPECT_EQ(status_of(both, access::viewer), 200u);
}

TEST_F(Authorizer, ALogOutEndsTheSession) {
    open_for_all();
    const auto begun = ask(log_in(annas));
    EXPECT_EQ(ask(with_cookie(begun, "DELETE")).status, 403u);
    EXPECT_TRUE(stays(with_cookie(begun)));
    const auto ended = ask(with_csrf(begun, "DELETE"));
    EXPECT_EQ(ended.status, 204u);
    EXPECT_THAT(field_of(ended, "Set-Cookie"),
                AllOf(StartsWith("pawl_session=;"), HasSubstr("Max-Age=0")));
    EXPECT_EQ(ask(with_cookie(begun)).status, 401u);
    EXPECT_FALSE(stays(with_cookie(begun)));
    EXPECT_EQ(ask(bearer(annas, "DELETE")).status, 204u);
    EXPECT_EQ(status_of(bearer(annas), access::admin), 200u);
}

TEST_F(Authorizer, ALogInEndsTheSessionBefore) {
    open_for_all();
    const auto first = ask(log_in(annas));
    auto again = log_in(veras);
    again.fields.push_back({"cookie", cookie_of(first)});
    const auto second = ask(again);
    EXPECT_NE(cookie_of(first), cookie_of(second));
    EXPECT_EQ(ask(with_cookie(first)).status, 401u);
    EXPECT_EQ(text_in(ask(with_cookie(second)), "name"), "vera");
}

TEST_F(Authorizer, WhatIsNoCredentialIsRejectedInOneLine) {
    open_for_all();
    const std::vector<std::pair<std::string, std::string>> cases{
        {"{}", "token"},
        {R"({"token":""})", "1 to 1024"},
        {R"({"token":")" + std::string(1'025, 'x') + R"("})", "1 to 1024"},
        {R"({"token":7})", "token"},
        {R"({"name":"a\nb","token":"x"})", "control character"},
        {R"({"name":")" + std::string(65, 'x') + R"(","token":"x"})", "at most 64"},
        {R"({"user":"a","token":"x"})", "user"},
        {"[]", "object"},
        {"{", "JSON"}};
    for (const auto& [body, says] : cases) {
        auto one = log_in("");
        one.body = body;
        const auto rejected = ask(one);
        EXPECT_EQ(rejected.status, 400u) << body;
        EXPECT_THAT(text_in(rejected, "detail"), HasSubstr(says)) << body;
    }
    EXPECT_EQ(ask(log_in("x")).status, 401u);
    EXPECT_EQ(status_of(bearer(""), access::viewer), 401u);
    EXPECT_EQ(status_of(bearer(std::string(1'025, 'x')), access::viewer), 401u);
}

TEST_F(Authorizer, ALoginLinkWorksOnceAndTheNextIsShown) {
    open({});
    EXPECT_EQ(status_of({}, access::viewer), 401u) << "nothing is open without it";
    EXPECT_EQ(ask(log_in(annas)).status, 401u);
    EXPECT_EQ(status_of(bearer(annas), access::viewer), 401u);
    const auto link = fresh_link();
    EXPECT_THAT(link, StartsWith("http://127.0.0.1:7295/login?once="));

    const auto begun = ask(by_link(link));
    EXPECT_EQ(begun.status, 303u);
    auto shown = with_cookie(begun);
    const std::string page = "/#session=";
    ASSERT_THAT(field_of(begun, "Location"), StartsWith(page));
    const auto csrf = field_of(begun, "Location").substr(page.size());
    shown.fields.push_back({"x-pawl-session", csrf});
    const auto told = ask(shown);
    EXPECT_EQ(text_in(told, "csrf"), csrf);
    shown.method = "POST";
    EXPECT_EQ(status_of(shown, access::admin), 200u);
    EXPECT_EQ(text_in(told, "name"), "local");
    EXPECT_EQ(text_in(told, "role"), "admin");
    const auto again = ask(by_link(link));
    EXPECT_EQ(again.status, 403u);
    EXPECT_EQ(cookie_of(again), "");
    const auto next = take(links);
    ASSERT_EQ(next.size(), 1u);
    EXPECT_NE(next[0], link);
    EXPECT_EQ(ask(by_link(next[0])).status, 303u);
}

TEST_F(Authorizer, ALoginLinkIsForThisMachineAndNotForPreviews) {
    open({});
    const auto link = fresh_link();
    auto remote = by_link(link);
    remote.from_loopback = false;
    EXPECT_EQ(ask(remote).status, 403u);
    auto proxied = by_link(link);
    proxied.fields.push_back({"x-forwarded-for", "192.0.2.1"});
    EXPECT_EQ(ask(proxied).status, 403u);
    auto preview = by_link(link);
    preview.method = "HEAD";
    EXPECT_EQ(ask(preview).status, 405u);
    auto wrong = by_link(link);
    wrong.query.back() = wrong.query.back() == 'A' ? 'E' : 'A';
    EXPECT_EQ(ask(wrong).status, 403u);
    wrong.query.clear();
    EXPECT_EQ(ask(wrong).status, 403u);
    EXPECT_EQ(ask(by_link(link)).status, 303u);
}

TEST_F(Authorizer, BeforeALinkIsMadeThereIsNone) {
    open({});
    EXPECT_EQ(ask(by_link("once=")).status, 403u);
}

// `pawl agent login-link` makes them so, of what the agent keeps in a file.
TEST_F(Authorizer, AHolderOfTheKeyMakesLinks) {
    open({});
    fresh_link();
    const auto key = login_key_in(take(keys).at(0));
    ASSERT_TRUE(key);
    EXPECT_EQ(ask(by_link(make_login_link(*key, clock.now()))).status, 303u);
    EXPECT_EQ(ask(by_link(make_login_link(*key, clock.now()))).status, 303u);
    const auto old = clock.now() - instant::duration{login_link_lifetime};
    EXPECT_EQ(ask(by_link(make_login_link(*key, old))).status, 403u);
    auth->replace_users({user("anna", user_role::admin, annas)});
    auth->replace_users({});
    EXPECT_EQ(ask(by_link(make_login_link(*key, clock.now()))).status, 403u)
        << "a key stays dead, as its links do";
}

TEST_F(Authorizer, WithUsersThereIsNoLink) {
    open_for_all();
    where.wait_for(show_link(auth));
    EXPECT_THAT(take(links), IsEmpty());
    EXPECT_EQ(ask(by_link("once=x")).status, 404u);
}

TEST_F(Authorizer, SessionsEndWithTheirUsers) {
    const auto vera = user("vera", user_role::viewer, veras);
    auto anna = user("anna", user_role::admin, annas);
    open({vera, anna});
    const auto veras_session = ask(log_in(veras));
    const auto annas_session = ask(log_in(annas));
    auth->replace_users({vera, anna});
    EXPECT_EQ(ask(with_cookie(annas_session)).status, 200u) << "nothing has changed";
    anna.role = user_role::viewer;
    auth->replace_users({vera, anna});
    EXPECT_EQ(ask(with_cookie(veras_session)).status, 200u);
    EXPECT_EQ(ask(with_cookie(annas_session)).status, 401u) << "her role has changed";
    EXPECT_FALSE(stays(with_cookie(annas_session)));
    EXPECT_EQ(status_of(bearer(annas), access::admin), 403u);
    auth->replace_users({user("vera", user_role::viewer, fresh_token("vera"))});
    EXPECT_EQ(ask(with_cookie(veras_session)).status, 401u) << "her token has changed";
    EXPECT_EQ(status_of(bearer(veras), access::viewer), 401u);
}

TEST_F(Authorizer, UsersWhoComeEndWhatTheLinkOpened) {
    open({});
    const auto begun = ask(by_link(fresh_link()));
    const auto next = take(links);
    auth->replace_users({user("anna", user_role::admin, annas)});
    EXPECT_EQ(ask(with_cookie(begun)).status, 401u);
    EXPECT_EQ(ask(by_link(next.at(0))).status, 404u);
    auth->replace_users({});
    EXPECT_EQ(ask(by_link(next.at(0))).status, 403u) << "an old link stays dead";
    const auto fresh = take(links);
    ASSERT_EQ(fresh.size(), 1u);
    EXPECT_EQ(ask(by_link(fresh[0])).status, 303u);
}

TEST_F(Authorizer, LogInsAndRejectionsAreAuditedWithoutTheirSecrets) {
    open_for_all();
    const auto begun = ask(log_in(annas));
    ask(with_csrf(begun, "DELETE"));
    EXPECT_THAT(take(audited), ElementsAre("anna session.open as admin, from 192.0.2.1",
                                           "anna session.close from 192.0.2.1"));
    const auto veras_session = ask(log_in(veras));
    take(audited);
    auto again = log_in(annas);
    again.fields.push_back({"cookie", cookie_of(veras_session)});
    ask(again);
    EXPECT_THAT(take(audited), ElementsAre("vera session.close from 192.0.2.1, by a log-in",
                                           "anna session.open as admin, from 192.0.2.1"));
    EXPECT_EQ(status_of(bearer(annas), access::viewer), 200u);
    EXPECT_THAT(take(audited), IsEmpty()) << "a program says it with every request";

    const auto wrong = fresh_token("vera");
    EXPECT_EQ(status_of(bearer(wrong), access::viewer), 401u);
    EXPECT_EQ(ask(log_in(fresh_token("anna"))).status, 401u);
    EXPECT_THAT(take(audited),
                ElementsAre("vera session.rejected a bearer token from 192.0.2.1 was rejected"));
    auto elsewhere = log_in("hunter2");
    elsewhere.body = R"({"name":"hunter1","token":"hunter2"})";
    elsewhere.peer = "192.0.2.2";
    EXPECT_EQ(ask(elsewhere).status, 401u);
    EXPECT_THAT(take(audited),
                ElementsAre("unknown session.rejected a log-in from 192.0.2.2 was rejected"));
}

TEST_F(Authorizer, ALinkThatIsRejectedIsAudited) {
    open({});
    ask(by_link("once=wrong"));
    EXPECT_THAT(take(audited),
                ElementsAre("unknown session.rejected a login link from 127.0.0.1 was rejected"));
    ask(by_link(fresh_link()));
    EXPECT_THAT(take(audited), ElementsAre("local session.open as admin, from 127.0.0.1"));
}

TEST_F(Authorizer, AnEventStreamIsAskedForItsRightsAgain) {
    open_for_all();
    const auto begun = ask(log_in(ottos));
    EXPECT_TRUE(stays(with_cookie(begun), access::operator_));
    EXPECT_FALSE(stays(with_cookie(begun), access::admin));
    EXPECT_FALSE(stays({}, access::viewer));
    EXPECT_TRUE(stays({}, access::open));
    EXPECT_EQ(status_of(bearer(veras), access::viewer), 200u);
    EXPECT_TRUE(stays(bearer(veras)));
    auth->replace_users({});
    EXPECT_FALSE(stays(bearer(veras)));
    EXPECT_FALSE(stays(with_cookie(begun)));
}

}  // namespace
}  // namespace pawl::api
