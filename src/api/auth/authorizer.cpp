#include "api/auth/authorizer.hpp"

#include "api/auth/request_credentials.hpp"
#include "api/auth/sessions.hpp"
#include "api/auth/verifier.hpp"
#include "api/request/json_body.hpp"
#include "api/request/problem.hpp"
#include "config/texts.hpp"
#include "documents/documents.hpp"
#include "time/clocks.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace pawl::api {

using boost::asio::awaitable;

namespace {

namespace json = boost::json;

constexpr std::size_t rejections_told_max = 1'024;
// Who comes by a login link.
constexpr std::string_view local_name = "local";
constexpr std::string_view challenge = "Bearer realm=\"pawl\"";
constexpr std::string_view csrf_field = "x-pawl-session";
// Where the web UI reads the session's token, after a login link. No server is sent a fragment.
constexpr std::string_view page_with_token = "/#session=";

bool may(config::user_role role, access needs) {
    switch (needs) {
        case access::open:
        case access::viewer:
            return true;
        case access::client:
            return role >= config::user_role::client;
        case access::operator_:
            return role >= config::user_role::operator_;
        case access::admin:
            return role >= config::user_role::admin;
    }
    return false;
}

std::string_view word_of(config::user_role role) {
    switch (role) {
        case config::user_role::viewer:
            return "viewer";
        case config::user_role::client:
            return "client";
        case config::user_role::operator_:
            return "operator";
        case config::user_role::admin:
            return "admin";
    }
    return "viewer";
}

// The least role that may.
std::string_view word_of(access needs) {
    return word_of(needs == access::admin       ? config::user_role::admin
                   : needs == access::operator_ ? config::user_role::operator_
                   : needs == access::client    ? config::user_role::client
                                                : config::user_role::viewer);
}

http::response unauthorized(std::string_view detail, bool has_token) {
    auto made = problem(401, detail);
    made.set("WWW-Authenticate", has_token ? std::string{challenge} + ", error=\"invalid_token\""
                                           : std::string{challenge});
    return made;
}

http::response retry_later(std::string_view detail, millis wait) {
    auto made = problem(429, detail);
    made.set("Retry-After", std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count()));
    return made;
}

http::response rejection_of(const auth_result& found) {
    switch (found.is) {
        case auth_result::kind::throttled:
            return retry_later(
                "too many wrong credentials from this address, or for this user; try again later",
                found.wait);
        case auth_result::kind::overloaded:
            return retry_later("too many log-ins at the same time; try again", millis{1'000});
        case auth_result::kind::nameless:
            return unauthorized(
                "this token names no user, and there are too many to try them all; log in with "
                "{\"name\", \"token\"} at /api/v1/session, or use a token of 'pawl token new'",
                true);
        default:
            return unauthorized(
                "wrong credentials; 'pawl token new' makes a token, and the hash for its [[user]]",
                true);
    }
}

caller local_admin() {
    caller who;
    who.name = local_name;
    who.role = config::user_role::admin;
    return who;
}

}  // namespace

// On the loop.
class authorizer::state : public std::enable_shared_from_this<authorizer::state> {
public:
    explicit state(parts made_of)
        : parts_{std::move(made_of)},
          verifier_{std::make_shared<verifier>(*parts_.loop, std::move(parts_.users))},
          rejections_told_{rejections_told_max, rejection_audit_interval} {
        parts_.users.clear();
    }

    net::loop& loop() { return *parts_.loop; }
    void replace_users(std::vector<config::user_settings> users);
    bool still_admits(const http::request& request, access needs);
    bool has_users() const { return verifier_->has_users(); }
    void set_origin(std::string url) { links_of_.url = std::move(url); }
    void show_login_link();

    static awaitable<admission> admit(std::shared_ptr<state> me,
                                      std::shared_ptr<const http::request> request, access needs);
    static awaitable<http::response> log_in(std::shared_ptr<state> me, shared_call asked);
    static awaitable<http::response> log_out(std::shared_ptr<state> me, shared_call asked);
    static awaitable<http::response> tell(std::shared_ptr<state> me, shared_call asked);
    static awaitable<http::response> log_in_once(std::shared_ptr<state> me, shared_call asked);

private:
    // By what the caller can be told at once; nothing is rejected yet.
    struct recognised {
        std::optional<caller> who{};
        const session* by = nullptr;  // null: by a bearer token
    };
    recognised recognise(const http::request& request, instant now);
    const session* session_of(const http::request& request, instant now);
    admission admit_by_session(const http::request& request, access needs, instant now);
    static admission allow(const caller& who, access needs);

    // Begins a session: its cookie is set on the answer.
    const session& begin_session(const http::request& request, const caller& who, instant now,
                                 http::response& answer);
    bool end_sessions(const http::request& request, instant now, std::string_view how);
    json::object describe(const caller& who, const session* by, std::string_view csrf,
                          instant now) const;
    std::string cookie_name(const http::request& request) const;
    std::string cookie_text(std::string_view value, std::chrono::seconds age,
                            const http::request& request) const;

    void audit_rejection(const std::string& peer, const std::string& name, std::string_view what,
                         instant now);
    void audit(const std::string& actor, std::string_view action, std::string detail) const {
        if (parts_.audit) parts_.audit(actor, std::string{action}, std::move(detail));
    }

    parts parts_;
    const digester digests_;
    const std::shared_ptr<verifier> verifier_;
    sessions sessions_;
    login_key links_of_{"", fresh_secret()};
    login_links links_;
    lru_cache<bool> rejections_told_;
};

// ---- Who asks

const session* authorizer::state::session_of(const http::request& request, instant now) {
    for (const auto value : cookies_of(request, cookie_name(request)))
        if (const auto* found = sessions_.use(digests_.of(value), now)) return found;
    return nullptr;
}

authorizer::state::recognised authorizer::state::recognise(const http::request& request,
                                                           instant now) {
    recognised found;
    if (const auto token = bearer_of(request)) {
        found.who = verifier_->recall(*token, now);
    } else if (const auto* by = session_of(request, now)) {
        found.who = by->who;
        found.by = by;
    }
    return found;
}

admission authorizer::state::allow(const caller& who, access needs) {
    if (may(who.role, needs)) return who;
    return problem(403, "this needs the role " + std::string{word_of(needs)} + ", and '" +
                            who.name + "' has the role " + std::string{word_of(who.role)});
}

admission authorizer::state::admit_by_session(const http::request& request, access needs,
                                              instant now) {
    const auto* by = session_of(request, now);
    if (by == nullptr)
        return unauthorized(
            verifier_->has_users()
                ? "log in: send 'Authorization: Bearer TOKEN', or a session's cookie"
                : "log in: no [[user]] is configured, so open the link that 'pawl agent "
                  "login-link' "
                  "prints on the agent's machine",
            false);
    if (!is_reading(request)) {
        if (is_from_other_site(request))
            return problem(403, "another site asks for this; use the web UI of this agent");
        if (!is_same_secret(request.find(csrf_field), by->csrf))
            return problem(403,
                           "X-Pawl-Session is missing or wrong; load the web UI again, or send the "
                           "csrf value of the log-in");
    }
    return allow(by->who, needs);
}

awaitable<admission> authorizer::state::admit(std::shared_ptr<state> me,
                                              std::shared_ptr<const http::request> request,
                                              access needs) {
    const auto now = me->loop().now();
    const auto token = bearer_of(*request);
    if (needs == access::open) {
        auto known = me->recognise(*request, now);
        // A cookie alone shows who reads, not who wants something done.
        const bool is_shown = known.by == nullptr || is_reading(*request);
        co_return known.who&& is_shown ? std::move(*known.who) : caller{};
    }
    if (!token) co_return me->admit_by_session(*request, needs, now);
    if (const auto who = me->verifier_->recall(*token, now)) co_return allow(*who, needs);

    credential shown;
    shown.token = std::string{*token};
    shown.peer = request->peer;
    if (token->empty() || token->size() > token_bytes_max)
        co_return unauthorized("the token has to be 1 to 1024 bytes", true);
    auto judging = me->verifier_->judge(std::move(shown));
    const auto found = co_await std::move(judging);
    if (found.is == auth_result::kind::right) co_return allow(found.who, needs);
    if (found.fresh)
        me->audit_rejection(request->peer, name_in_token(*token).value_or(""), "a bearer token",
                            me->loop().now());
    co_return rejection_of(found);
}

bool authorizer::state::still_admits(const http::request& request, access needs) {
    if (needs == access::open) return true;
    const auto known = recognise(request, loop().now());
    return known.who && may(known.who->role, needs);
}

void authorizer::state::replace_users(std::vector<config::user_settings> users) {
    const bool had_users = verifier_->has_users();
    verifier_->replace_users(std::move(users));
    sessions_.close_if([&](const session& one) {
        const auto* still = verifier_->find(one.who.name);
        if (one.user_hash.empty()) return verifier_->has_users();
        return still == nullptr || still->role != one.who.role ||
               still->token_hash != one.user_hash;
    });
    if (verifier_->has_users()) {
        // Links that were made before stay dead, whatever becomes of the users.
        links_of_.secret = fresh_secret();
    } else if (had_users) {
        if (parts_.log)
            parts_.log(log_level::warn,
                       "no [[user]] is configured any more: a login link is the only way in");
        // Before the API listens there is nowhere to lead to, and it shows one when it does.
        show_login_link();
    }
}

// ---- Sessions

// Over TLS by a prefix with which browsers take it from this host alone: a page of another host of
// the same domain can neither put a session of its own in place of it, nor hide it.
std::string authorizer::state::cookie_name(const http::request& request) const {
    return (parts_.secure || request.secure ? "__Host-" : "") + parts_.cookie;
}

std::string authorizer::state::cookie_text(std::string_view value, std::chrono::seconds age,
                                           const http::request& request) const {
    std::string text = cookie_name(request) + "=" + std::string{value} +
                       "; Path=/; Max-Age=" + std::to_string(age.count()) +
                       "; HttpOnly; SameSite=Strict";
    if (parts_.secure || request.secure) text += "; Secure";
    return text;
}

const session& authorizer::state::begin_session(const http::request& request, const caller& who,
                                                instant now, http::response& answer) {
    end_sessions(request, now, ", by a log-in");
    const auto id = fresh_secret();
    const auto* user = verifier_->find(who.name);
    session fresh;
    fresh.who = who;
    fresh.csrf = fresh_secret();
    fresh.user_hash = user == nullptr ? std::string{} : user->token_hash;
    const auto& begun = sessions_.open(digests_.of(id), std::move(fresh), now);
    answer.set("Set-Cookie",
               cookie_text(id, std::chrono::ceil<std::chrono::seconds>(begun.ends - now), request));
    audit(who.name, "session.open",
          "as " + std::string{word_of(who.role)} + ", from " + request.peer);
    return begun;
}

// A browser may have several, of several users.
bool authorizer::state::end_sessions(const http::request& request, instant now,
                                     std::string_view how) {
    bool ended = false;
    for (const auto value : cookies_of(request, cookie_name(request))) {
        const auto id = digests_.of(value);
        const auto* found = sessions_.use(id, now);
        if (found == nullptr) continue;
        const auto user = found->who.name;
        sessions_.close(id);
        audit(user, "session.close", "from " + request.peer + std::string{how});
        ended = true;
    }
    return ended;
}

json::object authorizer::state::describe(const caller& who, const session* by,
                                         std::string_view csrf, instant now) const {
    json::value ends;
    if (by != nullptr) {
        const auto left = sessions_.end_of(*by, now) - now;
        const auto at = time::wall_now().time_since_epoch() + left;
        ends = documents::time_text(std::chrono::floor<millis>(at).count());
    }
    return {{"name", who.name},
            {"role", word_of(who.role)},
            {"csrf", csrf},
            {"expires_at", std::move(ends)}};
}

awaitable<http::response> authorizer::state::log_in(std::shared_ptr<state> me, shared_call asked) {
    const auto& request = *asked->request;
    body_reader reading{request, {"name", "token"}};
    credential shown;
    shown.name = reading.text("name").value_or("");
    shown.token = reading.required_text("token");
    shown.peer = request.peer;
    if (reading.fault()) co_return *reading.fault();
    if (shown.token.empty() || shown.token.size() > token_bytes_max)
        co_return problem(400, "token has to be 1 to 1024 bytes");
    if (!shown.name.empty())
        if (const auto bad = config::user_name_fault(shown.name))
            co_return problem(400, "name " + bad->what);
    if (is_from_other_site(request))
        co_return problem(403, "another site asks for this; use the web UI of this agent");
    if (!me->verifier_->has_users())
        co_return unauthorized(
            "no [[user]] is configured, so open the link that 'pawl agent login-link' prints on "
            "the "
            "agent's machine",
            false);

    const auto name = shown.name.empty() ? name_in_token(shown.token).value_or("") : shown.name;
    auto judging = me->verifier_->judge(std::move(shown));
    const auto found = co_await std::move(judging);
    const auto now = me->loop().now();
    if (found.is != auth_result::kind::right) {
        if (found.fresh) me->audit_rejection(request.peer, name, "a log-in", now);
        co_return rejection_of(found);
    }
    http::response set;
    const auto& begun = me->begin_session(request, found.who, now, set);
    auto answer = json_response(200, me->describe(found.who, &begun, begun.csrf, now));
    for (const auto& one : set.fields) answer.fields.push_back(one);
    co_return answer;
}

awaitable<http::response> authorizer::state::tell(std::shared_ptr<state> me, shared_call asked) {
    const auto now = me->loop().now();
    const auto known = me->recognise(*asked->request, now);
    // Browsers send the cookie to every port of the host: a server on another port has it too.
    const bool is_known =
        known.by != nullptr && is_same_secret(asked->request->find(csrf_field), known.by->csrf);
    const std::string_view csrf = is_known ? known.by->csrf : std::string_view{};
    co_return json_response(200, me->describe(asked->who, known.by, csrf, now));
}

awaitable<http::response> authorizer::state::log_out(std::shared_ptr<state> me, shared_call asked) {
    http::response answer{204};
    if (!bearer_of(*asked->request) && me->end_sessions(*asked->request, me->loop().now(), ""))
        answer.set("Set-Cookie", me->cookie_text("", std::chrono::seconds{0}, *asked->request));
    answer.set("Cache-Control", "no-store");
    co_return answer;
}

// ---- The login link

void authorizer::state::show_login_link() {
    if (verifier_->has_users() || links_of_.url.empty() || !parts_.show_link) return;
    parts_.show_link(links_of_, make_login_link(links_of_, loop().now()));
}

awaitable<http::response> authorizer::state::log_in_once(std::shared_ptr<state> me,
                                                         shared_call asked) {
    const auto& request = *asked->request;
    const auto now = me->loop().now();
    if (me->verifier_->has_users())
        co_return problem(404,
                          "users are configured, so there is no login link; log in with a "
                          "token");
    // What only looks, such as a preview, must not use it up.
    if (request.method != "GET") {
        auto rejected = problem(405, "a login link is opened with GET");
        rejected.set("Allow", "GET");
        co_return rejected;
    }
    const auto shown = asked->query.find("once");
    const bool is_right = shown != asked->query.end() && is_from_this_machine(request) &&
                          me->links_.use(me->links_of_, shown->second, now);
    if (!is_right) {
        me->audit_rejection(request.peer, "", "a login link", now);
        co_return login_rejected_page();
    }
    http::response answer{303};
    answer.set("Cache-Control", "no-store");
    const auto& begun = me->begin_session(request, local_admin(), now, answer);
    answer.set("Location", std::string{page_with_token} + begun.csrf);
    me->show_login_link();
    co_return answer;
}

void authorizer::state::audit_rejection(const std::string& peer, const std::string& name,
                                        std::string_view what, instant now) {
    const auto group = address_group(peer);
    if (rejections_told_.find(group, now) != nullptr) return;
    rejections_told_.put(group, true, now);
    // A name that no user has may be a password in the wrong field.
    const bool is_known = verifier_->find(name) != nullptr;
    audit(is_known ? name : "unknown", "session.rejected",
          std::string{what} + " from " + peer + " was rejected");
}

// ---- The outside

authorizer::authorizer(parts made_of) : state_{std::make_shared<state>(std::move(made_of))} {}
authorizer::~authorizer() = default;

void authorizer::replace_users(std::vector<config::user_settings> users) {
    std::weak_ptr<state> weak{state_};
    boost::asio::post(state_->loop().get_executor(), [weak, users = std::move(users)]() mutable {
        if (const auto me = weak.lock()) me->replace_users(std::move(users));
    });
}

awaitable<admission> authorizer::admit(std::shared_ptr<const http::request> request, access needs) {
    return state::admit(state_, std::move(request), needs);
}

bool authorizer::still_admits(const http::request& request, access needs) {
    return state_->still_admits(request, needs);
}

routes authorizer::session_routes() {
    const auto me = state_;
    routes some;
    some.push_back({"POST", "/api/v1/session", access::open,
                    [me](shared_call asked) { return state::log_in(me, std::move(asked)); }});
    some.push_back({"GET", "/api/v1/session", access::viewer,
                    [me](shared_call asked) { return state::tell(me, std::move(asked)); }});
    some.push_back({"DELETE", "/api/v1/session", access::viewer,
                    [me](shared_call asked) { return state::log_out(me, std::move(asked)); }});
    some.push_back({"GET", "/login", access::open,
                    [me](shared_call asked) { return state::log_in_once(me, std::move(asked)); }});
    return some;
}

bool authorizer::has_users() const { return state_->has_users(); }
void authorizer::set_origin(std::string url) { state_->set_origin(std::move(url)); }
void authorizer::show_login_link() { state_->show_login_link(); }

}  // namespace pawl::api
