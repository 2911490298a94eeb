// Links that log in the person who opens them first, for an agent without users.
//
// A link says when it ends and carries a proof under a key. The agent keeps the key in a file that
// its own user alone reads: who reads that may make a link, without asking the agent, and no
// link has to lie in a log. Ends count on CLOCK_BOOTTIME, which all processes of a machine share.
#pragma once

#include "api/auth/token.hpp"

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::api {

constexpr millis login_link_lifetime = std::chrono::minutes{15};

struct login_key {
    std::string url;     // of the web UI: http://127.0.0.1:7295
    std::string secret;  // of fresh_secret()
};

// http://127.0.0.1:7295/login?once=…
std::string make_login_link(const login_key& key, instant now);

// The file's text, and what one has. Nothing for any other text.
std::string text_of(const login_key& key);
std::optional<login_key> login_key_in(std::string_view text);

// Which links work: those of the key that have not ended, each once. A machine: it is handed
// instants.
class login_links {
public:
    // `once` is what the link has behind once=. True uses it up.
    bool use(const login_key& key, std::string_view once, instant now);

private:
    // By nonce, until they have ended. Only links of the key stand here, each of which a user who
    // may read it has made and opened.
    std::map<std::string, instant, std::less<>> used_;
};

}  // namespace pawl::api
