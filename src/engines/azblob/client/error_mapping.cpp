#include "engines/azblob/client/error_mapping.hpp"

#include "base/text.hpp"
#include "base/xml.hpp"
#include "engines/azblob/client/service.hpp"
#include "net/https/statuses.hpp"

namespace pawl::azblob {
namespace {

constexpr std::size_t quoted_max = 300;

errc code_of(const rejection& what, effect asked) {
    // A server that fails, or says that it is busy, may have written before.
    if (net::is_undecided(what.status))
        return asked == effect::writes ? errc::outcome_unknown : errc::unreachable;
    if (net::is_turned_away(what.status) || what.code == "ContainerBeingDeleted")
        return errc::unreachable;
    if (what.status == 401 || what.status == 403) return errc::denied;
    if (what.code == "UnsupportedHeader" || what.code == "UnsupportedQueryParameter" ||
        what.code == "FeatureVersionMismatch" || what.code == "InvalidHeaderValue" ||
        what.code == "APINotImplemented")
        return errc::unsupported;
    return errc::rejected;
}

}  // namespace

rejection read_rejection(const net::https_response& answer) {
    rejection read;
    read.status = answer.status;
    read.code = base::printable(error_code(answer));
    const auto message = base::text_in(answer.body, "Message");
    read.message = base::printable(message.substr(0, message.find('\n')).substr(0, quoted_max));
    return read;
}

bool is_conflict(const rejection& what) {
    return (what.status == 412 && what.code == "ConditionNotMet") ||
           (what.status == 409 && what.code == "BlobAlreadyExists") || lacks_blob(what);
}

bool lacks_blob(const rejection& what) { return what.status == 404 && what.code == "BlobNotFound"; }

bool lacks_container(const rejection& what) {
    return (what.status == 404 && what.code == "ContainerNotFound") ||
           (what.status == 409 && what.code == "ContainerBeingDeleted");
}

failure explain_rejection(const std::string& place, const rejection& what, effect asked) {
    const auto status = "status " + std::to_string(what.status);
    if (what.code.empty() && !net::is_undecided(what.status) && !net::is_turned_away(what.status))
        return {errc::protocol,
                place + ": this is not Azure Blob Storage: " + status + " without its error code"};
    const bool may_hold_secrets = what.status == 401 || what.status == 403;
    auto detail = place + ": ";
    if (!what.code.empty()) detail += what.code + ", ";
    if (!what.message.empty() && !may_hold_secrets) detail += what.message + ", ";
    return {code_of(what, asked), detail + status};
}

}  // namespace pawl::azblob
