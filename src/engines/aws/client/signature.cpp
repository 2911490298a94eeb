#include "engines/aws/client/signature.hpp"

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/hex.hpp"
#include "base/number.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace pawl::aws {
namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";

// Sequences of blanks count as one.
std::string one_spaced(std::string_view text) {
    std::string made;
    for (const char letter : base::trimmed(text))
        if (letter != ' ' || !made.ends_with(' ')) made += letter;
    return made;
}

struct canonical_fields {
    std::string lines;
    std::string names;  // between semicolons
};

canonical_fields canonical_fields_of(const net::https_request& request, std::string_view host) {
    std::vector<std::pair<std::string, std::string>> fields{{"host", std::string{host}}};
    for (const auto& [name, value] : request.fields)
        fields.emplace_back(base::lower(name), one_spaced(value));
    std::stable_sort(fields.begin(), fields.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    canonical_fields made;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto& [name, value] = fields[i];
        if (i > 0 && fields[i - 1].first == name) {
            made.lines.pop_back();
            made.lines += "," + value + "\n";
            continue;
        }
        made.lines.append(name).append(":").append(value).append("\n");
        made.names += (made.names.empty() ? "" : ";") + name;
    }
    return made;
}

// The parameters in order, each with its '='.
std::string canonical_query(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> parameters;
    while (!query.empty()) {
        const auto end = query.find('&');
        const auto one = query.substr(0, end);
        const auto equals = one.find('=');
        if (!one.empty())
            parameters.emplace_back(one.substr(0, equals), equals == std::string_view::npos
                                                               ? std::string_view{}
                                                               : one.substr(equals + 1));
        if (end == std::string_view::npos) break;
        query.remove_prefix(end + 1);
    }
    std::sort(parameters.begin(), parameters.end());
    std::string made;
    for (const auto& [name, value] : parameters)
        made.append(made.empty() ? "" : "&").append(name).append("=").append(value);
    return made;
}

std::string signing_key(const key_pair& keys, std::string_view day, const scope& where) {
    const auto dated = base::hmac_sha256("AWS4" + keys.secret, day);
    const auto regional = base::hmac_sha256(dated, where.region);
    const auto serving = base::hmac_sha256(regional, where.service);
    return base::hmac_sha256(serving, "aws4_request");
}

}  // namespace

std::string signing_time(time::wall_instant when) {
    const auto second = std::chrono::floor<std::chrono::seconds>(when);
    const auto midnight = std::chrono::floor<std::chrono::days>(second);
    const std::chrono::year_month_day day{midnight};
    const std::chrono::hh_mm_ss hours{second - midnight};
    const auto two = [](auto number) {
        return base::padded(static_cast<std::uint64_t>(number), 2);
    };
    return base::padded(static_cast<std::uint64_t>(static_cast<int>(day.year())), 4) +
           two(static_cast<unsigned>(day.month())) + two(static_cast<unsigned>(day.day())) + "T" +
           two(hours.hours().count()) + two(hours.minutes().count()) +
           two(hours.seconds().count()) + "Z";
}

std::string canonical_request(const net::https_request& request, std::string_view host,
                              std::string_view payload) {
    const std::string_view target = request.target;
    const auto question = target.find('?');
    const auto query =
        question == std::string_view::npos ? std::string_view{} : target.substr(question + 1);
    const auto fields = canonical_fields_of(request, host);
    return request.method + "\n" + std::string{target.substr(0, question)} + "\n" +
           canonical_query(query) + "\n" + fields.lines + "\n" + fields.names + "\n" +
           std::string{payload};
}

void sign(net::https_request& request, std::string_view host, const key_pair& keys,
          const scope& where, time::wall_instant when) {
    const auto moment = signing_time(when);
    const auto day = moment.substr(0, 8);
    request.fields.emplace_back("X-Amz-Date", moment);
    if (!keys.session.empty()) request.fields.emplace_back("X-Amz-Security-Token", keys.session);
    const auto within = day + "/" + where.region + "/" + where.service + "/aws4_request";
    const auto canonical = canonical_request(request, host, base::sha256_hex(request.body));
    const auto to_sign =
        std::string{algorithm} + "\n" + moment + "\n" + within + "\n" + base::sha256_hex(canonical);
    const auto signature = base::to_hex(base::hmac_sha256(signing_key(keys, day, where), to_sign));
    request.fields.emplace_back("Authorization",
                                std::string{algorithm} + " Credential=" + keys.id + "/" + within +
                                    ", SignedHeaders=" + canonical_fields_of(request, host).names +
                                    ", Signature=" + signature);
}

}  // namespace pawl::aws
