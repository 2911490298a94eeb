#include "config/texts.hpp"

#include "base/ascii.hpp"
#include "base/number.hpp"
#include "base/terminal_text.hpp"
#include "config/findings.hpp"
#include "config/settings.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

namespace pawl::config {
namespace {

using maybe_fault = std::optional<base::text_fault>;

constexpr std::size_t path_bytes_max = 4095;
constexpr std::size_t agent_name_bytes_max = 128;
constexpr std::size_t user_name_bytes_max = 64;
constexpr std::size_t host_bytes_max = 253;
constexpr std::size_t account_bytes_max = 256;
constexpr std::size_t token_hash_bytes_max = 1024;
constexpr std::string_view hash_prefix = "$argon2id$";
// 8 and 12 bytes in base64: what argon2 takes at least, and what is not hit by chance.
constexpr std::size_t salt_letters_min = 11;
constexpr std::size_t hash_letters_min = 16;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool is_blank(char c) { return is_control(c) || c == ' '; }

maybe_fault length_fault(std::string_view text, std::size_t bytes_max) {
    if (text.empty())
        return base::text_fault{0,
                                "is empty; expected 1 to " + std::to_string(bytes_max) + " bytes"};
    if (text.size() > bytes_max)
        return base::text_fault{bytes_max, "has " + std::to_string(text.size()) +
                                               " bytes; at most " + std::to_string(bytes_max)};
    return std::nullopt;
}

template <class Predicate>
maybe_fault character_fault(std::string_view text, Predicate is_bad, std::string_view what) {
    const auto bad = std::find_if(text.begin(), text.end(), is_bad);
    if (bad == text.end()) return std::nullopt;
    return base::text_fault{static_cast<std::size_t>(bad - text.begin()), std::string{what}};
}

maybe_fault unprintable_fault(std::string_view text) {
    if (const auto bad = base::find_unprintable(text); bad != std::string_view::npos)
        return base::text_fault{bad, "has a control character; use printable text"};
    if (const auto bad = base::find_invisible(text); bad != std::string_view::npos)
        return base::text_fault{
            bad, "has an invisible character; leave it out, or two names look alike"};
    return std::nullopt;
}

}  // namespace

maybe_fault url_fault(std::string_view text) {
    const auto read = base::parse_store_url(text);
    if (read.has_value()) return std::nullopt;
    return base::text_fault{read.error().column, "is not a store URL: " + read.error().what};
}

maybe_fault path_fault(std::string_view text) {
    if (auto bad = length_fault(text, path_bytes_max)) return bad;
    return character_fault(text, is_control, "has a control character; a path is printable");
}

maybe_fault absolute_path_fault(std::string_view text) {
    if (auto bad = path_fault(text)) return bad;
    if (text.front() == '/') return std::nullopt;
    return base::text_fault{0, "is a relative path; begin it with '/'"};
}

maybe_fault account_fault(std::string_view text) {
    if (auto bad = length_fault(text, account_bytes_max)) return bad;
    const auto is_bad = [](char c) { return is_blank(c) || c == ':'; };
    return character_fault(text, is_bad, "has white space or a ':'; no account is named so");
}

maybe_fault agent_name_fault(std::string_view text) {
    if (auto bad = length_fault(text, agent_name_bytes_max)) return bad;
    if (auto bad = character_fault(text, is_blank, "has white space; expected one word"))
        return bad;
    return unprintable_fault(text);
}

maybe_fault user_name_fault(std::string_view text) {
    if (auto bad = length_fault(text, user_name_bytes_max)) return bad;
    if (auto bad = unprintable_fault(text)) return bad;
    // The history of a run has who cancelled it and why in one text.
    const auto at = text.find(": ");
    if (at == std::string_view::npos) return std::nullopt;
    return base::text_fault{at, "has ': ', behind which a reason would begin; use '-' or '.'"};
}

maybe_fault job_name_fault(std::string_view text) {
    if (auto bad = length_fault(text, job_name_bytes_max)) return bad;
    if (auto bad = character_fault(text, is_blank, "has white space; expected one word"))
        return bad;
    if (auto bad = unprintable_fault(text)) return bad;
    if (text == "." || text == "..")
        return base::text_fault{0, "is '.' or '..', which no URL can have as a name; use a word"};
    const auto is_slash = [](char c) { return c == '/'; };
    return character_fault(
        text, is_slash, "has a '/', which would make its key that of a partition; use '-' or '.'");
}

maybe_fault token_hash_fault(std::string_view text) {
    constexpr std::string_view right = "$argon2id$…, as `pawl token new` prints it";
    if (!text.starts_with(hash_prefix) || text.size() == hash_prefix.size())
        return base::text_fault{0, "is not an argon2id hash; expected " + std::string{right}};
    if (text.size() > token_hash_bytes_max)
        return base::text_fault{0, "is too long for a hash; expected " + std::string{right}};
    return character_fault(text, is_blank, "has white space; expected the hash as it was printed");
}

namespace {

bool is_base64(std::string_view part, std::size_t letters_min) {
    return part.size() >= letters_min && std::all_of(part.begin(), part.end(), [](char c) {
               return base::is_alphanumeric(c) || c == '+' || c == '/';
           });
}

// Takes a number, and the name before it, off the front of `costs`.
bool take_cost(std::string_view& costs, std::string_view name, std::uint32_t most) {
    if (!costs.starts_with(name)) return false;
    costs.remove_prefix(name.size());
    const auto [value, size, _] = base::read_number<std::uint32_t>(costs);
    if (value < 1 || value > most) return false;
    costs.remove_prefix(size);
    return true;
}

bool are_costs(std::string_view costs) {
    return take_cost(costs, "m=", token_hash_memory_kib_max) &&
           take_cost(costs, ",t=", token_hash_passes_max) &&
           take_cost(costs, ",p=", token_hash_lanes_max) && costs.empty();
}

}  // namespace

bool is_whole_token_hash(std::string_view text) {
    if (!text.starts_with(std::string{hash_prefix} + "v=")) return false;
    const auto hash_at = text.rfind('$');
    const auto salt_at = text.rfind('$', hash_at - 1);
    const auto costs_at = text.rfind('$', salt_at - 1);
    return costs_at > hash_prefix.size() &&
           are_costs(text.substr(costs_at + 1, salt_at - costs_at - 1)) &&
           is_base64(text.substr(salt_at + 1, hash_at - salt_at - 1), salt_letters_min) &&
           is_base64(text.substr(hash_at + 1), hash_letters_min);
}

base::parsed<base::endpoint> parse_listen(std::string_view text) {
    const auto colon = text.rfind(':');
    const auto host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
    if (colon == std::string_view::npos)
        return base::text_fault{0, "has no port; expected HOST:PORT, such as 127.0.0.1:7295"};
    if (host.empty())
        return base::text_fault{
            0, "has no host; expected 127.0.0.1:PORT, or 0.0.0.0:PORT for every address"};
    const bool bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
    if (!bracketed && host.find_first_of(":[]") != std::string_view::npos)
        return base::text_fault{0, "has an IPv6 address without brackets; expected [::1]:7295"};
    if (const auto bad = std::find_if(host.begin(), host.end(),
                                      [](char c) { return is_blank(c) || c == '/' || c == '@'; });
        bad != host.end())
        return base::text_fault{static_cast<std::size_t>(bad - host.begin()),
                                "is not an address; expected HOST:PORT, such as 127.0.0.1:7295"};
    base::endpoint where;
    where.host = bracketed ? host.substr(1, host.size() - 2) : host;
    const auto port = base::parse_number<std::uint16_t>(text.substr(colon + 1));
    if (!port) return base::text_fault{colon + 1, "has no port from 0 to 65535 after the ':'"};
    where.port = *port;
    return where;
}

maybe_fault listen_fault(std::string_view text) {
    const auto read = parse_listen(text);
    if (read.has_value()) return std::nullopt;
    return read.error();
}

maybe_fault host_fault(std::string_view text) {
    if (auto bad = length_fault(text, host_bytes_max)) return bad;
    return character_fault(
        text,
        [](char c) {
            return is_blank(c) || std::string_view{":/@?#[]"}.find(c) != std::string_view::npos;
        },
        "is not a host; expected a name without a port, such as \"pawl.example.com\"");
}

bool is_loopback(const base::endpoint& where) {
    if (where.host == "localhost" || where.host == "::1") return true;
    in_addr address{};
    return where.host.starts_with("127.") && inet_pton(AF_INET, where.host.c_str(), &address) == 1;
}

}  // namespace pawl::config
