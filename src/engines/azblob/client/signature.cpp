#include "engines/azblob/client/signature.hpp"

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/digest.hpp"
#include "base/percent.hpp"
#include "time/http_date.hpp"

#include <map>
#include <utility>

namespace pawl::azblob {
namespace {

// The standard fields that are signed, between the method and the x-ms- fields.
constexpr std::string_view signed_fields[] = {"content-encoding",
                                              "content-language",
                                              "content-length",
                                              "content-md5",
                                              "content-type",
                                              "date",
                                              "if-modified-since",
                                              "if-match",
                                              "if-none-match",
                                              "if-unmodified-since",
                                              "range"};

std::string canonical_fields(const std::map<std::string, std::string>& fields) {
    std::string made;
    for (const auto& [name, value] : fields)
        if (name.starts_with("x-ms-")) made += name + ":" + value + "\n";
    return made;
}

std::string decoded(std::string_view text) {
    auto plain = base::percent_decode(text);
    return plain.has_value() ? std::move(*plain) : std::string{text};
}

std::string canonical_resource(std::string_view target, std::string_view account) {
    const auto question = target.find('?');
    std::string made = "/" + std::string{account} + std::string{target.substr(0, question)};
    std::multimap<std::string, std::string> parameters;
    auto query =
        question == std::string_view::npos ? std::string_view{} : target.substr(question + 1);
    while (!query.empty()) {
        const auto end = query.find('&');
        const auto one = query.substr(0, end);
        const auto equals = one.find('=');
        if (equals != std::string_view::npos)
            parameters.emplace(base::lower(decoded(one.substr(0, equals))),
                               decoded(one.substr(equals + 1)));
        if (end == std::string_view::npos) break;
        query.remove_prefix(end + 1);
    }
    for (const auto& [name, value] : parameters) made += "\n" + name + ":" + value;
    return made;
}

}  // namespace

std::string string_to_sign(const net::https_request& request, std::string_view account) {
    std::map<std::string, std::string> fields;
    for (const auto& [name, value] : request.fields)
        fields.emplace(base::lower(name), base::trimmed(value));
    // Empty, and not 0, where there is no body.
    if (!request.body.empty()) fields["content-length"] = std::to_string(request.body.size());
    std::string made = request.method + "\n";
    for (const auto name : signed_fields) {
        const auto found = fields.find(std::string{name});
        made += (found == fields.end() ? "" : found->second) + "\n";
    }
    return made + canonical_fields(fields) + canonical_resource(request.target, account);
}

void sign(net::https_request& request, std::string_view account, std::string_view key,
          time::wall_instant when) {
    request.fields.emplace_back("x-ms-date", time::format_http_date(when));
    const auto signature =
        base::to_base64(base::hmac_sha256(key, string_to_sign(request, account)));
    request.fields.emplace_back("Authorization",
                                "SharedKey " + std::string{account} + ":" + signature);
}

}  // namespace pawl::azblob
