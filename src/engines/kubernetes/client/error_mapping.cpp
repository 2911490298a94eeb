#include "engines/kubernetes/client/error_mapping.hpp"

#include "base/text.hpp"
#include "net/https/statuses.hpp"

#include <boost/json.hpp>

#include <algorithm>

namespace pawl::kubernetes {
namespace {

namespace json = boost::json;

constexpr std::size_t message_bytes_max = 300;

std::string text_in(const json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

bool mentions(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// The server's own words, if it has some, behind ours.
std::string words_of(const status_words& told, unsigned status) {
    if (told.message.empty()) return "status " + std::to_string(status);
    return base::printable(told.message.substr(0, message_bytes_max));
}

// Rights, quotas and namespaces on their way out all answer 403.
failure explain_forbidden(const request_place& asked, const status_words& told,
                          const std::string& where) {
    // Of a server that has just begun.
    if (mentions(told.message, "not yet ready to handle request"))
        return {errc::unreachable, where + words_of(told, 403)};
    if (mentions(told.message, "exceeded quota") || mentions(told.message, "being terminated"))
        return {errc::rejected, where + words_of(told, 403)};
    return {errc::denied,
            where + "no permission to " + std::string{name_of(asked.what)} +
                " leases (coordination.k8s.io) in the namespace '" + asked.name_space +
                "'; apply the Role of deploy/kubernetes/lease-store.yaml: " + words_of(told, 403)};
}

}  // namespace

std::string_view name_of(verb what) noexcept {
    switch (what) {
        case verb::get:
            return "get";
        case verb::list:
            return "list";
        case verb::watch:
            return "watch";
        case verb::create:
            return "create";
        case verb::patch:
            return "patch";
        case verb::erase:
            return "delete";
        case verb::review:
            return "review permissions on";
    }
    return "get";
}

status_words read_status(std::string_view body) {
    boost::system::error_code error;
    const auto document = json::parse(body, error);
    if (error || !document.is_object()) return {};
    const auto& status = document.get_object();
    if (text_in(status, "kind") != "Status") return {};
    status_words told{text_in(status, "reason"), text_in(status, "message"), {}};
    if (const auto* details = status.if_contains("details"); details && details->is_object())
        told.kind = text_in(details->get_object(), "kind");
    return told;
}

bool is_missing_object(unsigned status, std::string_view body) {
    if (status != 404) return false;
    const auto told = read_status(body);
    return told.reason == "NotFound" && told.kind != "namespaces";
}

failure explain_rejection(const request_place& asked, unsigned status, std::string_view body,
                          std::string_view retry_after) {
    const auto told = read_status(body);
    const auto where = asked.server + ": ";
    switch (status) {
        case 401:
            return {errc::denied, where +
                                      "the token or certificate is not accepted; it may be expired "
                                      "or of another cluster"};
        case 403:
            return explain_forbidden(asked, told, where);
        case 404:
            if (told.kind == "namespaces")
                return {errc::rejected, where + "the namespace '" + asked.name_space +
                                            "' does not exist; create it"};
            if (told.reason == "NotFound") return {errc::rejected, where + words_of(told, status)};
            return {errc::protocol, where +
                                        "there is no API of leases here (404); expected the "
                                        "API server of a Kubernetes of 1.14 or newer"};
        case 429:
            // Priority and fairness turn a request away before it is carried out.
            return {errc::unreachable,
                    where + "too many requests" +
                        (retry_after.empty()
                             ? std::string{}
                             : ", asked to wait " + base::printable(retry_after) + " s")};
        default:
            break;
    }
    if (net::is_turned_away(status)) return {errc::unreachable, where + words_of(told, status)};
    if (net::is_undecided(status))
        return {only_reads(asked.what) ? errc::unreachable : errc::outcome_unknown,
                where + words_of(told, status)};
    if (told.message.empty())
        return {errc::protocol, where + "unexpected status " + std::to_string(status) +
                                    "; expected the API server of a Kubernetes"};
    return {errc::rejected, where + words_of(told, status)};
}

}  // namespace pawl::kubernetes
