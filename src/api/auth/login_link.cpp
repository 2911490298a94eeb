#include "api/auth/login_link.hpp"

#include "base/number.hpp"

namespace pawl::api {
namespace {

constexpr std::string_view path = "/login?once=";

// NONCE.END.PROOF, the end in milliseconds.
std::string proof_of(const login_key& key, std::string_view nonce, std::int64_t end) {
    return keyed_digest(key.secret, std::string{nonce} + '.' + std::to_string(end));
}

std::int64_t count_of(instant at) {
    return std::chrono::floor<millis>(at.time_since_epoch()).count();
}

}  // namespace

std::string make_login_link(const login_key& key, instant now) {
    const auto nonce = fresh_secret();
    const auto end = count_of(now + instant::duration{login_link_lifetime});
    return key.url + std::string{path} + nonce + '.' + std::to_string(end) + '.' +
           proof_of(key, nonce, end);
}

std::string text_of(const login_key& key) { return key.url + '\n' + key.secret + '\n'; }

std::optional<login_key> login_key_in(std::string_view text) {
    const auto first = text.find('\n');
    if (first == std::string_view::npos || first == 0 || !text.ends_with('\n')) return std::nullopt;
    const auto secret = text.substr(first + 1, text.size() - first - 2);
    if (secret.size() != secret_letters || secret.find('\n') != std::string_view::npos)
        return std::nullopt;
    return login_key{std::string{text.substr(0, first)}, std::string{secret}};
}

bool login_links::use(const login_key& key, std::string_view once, instant now) {
    const auto first = once.find('.');
    const auto second = once.find('.', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos) return false;
    const auto nonce = once.substr(0, first);
    const auto end = base::parse_number<std::int64_t>(once.substr(first + 1, second - first - 1));
    if (!end || !is_same_secret(once.substr(second + 1), proof_of(key, nonce, *end))) return false;
    std::erase_if(used_, [&](const auto& one) { return one.second <= now; });
    const instant ends{millis{*end}};
    return ends > now && used_.emplace(nonce, ends).second;
}

}  // namespace pawl::api
