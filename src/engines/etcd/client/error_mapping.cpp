#include "engines/etcd/client/error_mapping.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace pawl::etcd {
namespace {

enum class meaning {
    no_effect,  // rejected before anything was proposed to the cluster
    unknown,    // proposed, and not seen to the end
    denied,
    rejected,
    unsupported,
    expired_login
};

struct known_rejection {
    std::string_view words;  // of etcd, wherever they stand in its message
    meaning what;
    remedy cure = remedy::tell;
    std::string_view advice = {};
};

// etcd tells its errors apart by their words: several of them share one code of gRPC.
constexpr std::array rejections{
    known_rejection{"invalid auth token", meaning::expired_login, remedy::log_in},
    known_rejection{"revision of auth store is old", meaning::expired_login, remedy::log_in},
    known_rejection{"user name is empty", meaning::denied, remedy::tell,
                    "give a user and a password in the URL"},
    known_rejection{"authentication failed", meaning::denied},
    known_rejection{"authentication is not enabled", meaning::denied},
    known_rejection{"permission denied", meaning::denied, remedy::tell,
                    "docs/stores/etcd.md lists what the role needs"},
    known_rejection{"no leader", meaning::no_effect, remedy::ask_again},
    known_rejection{"rpc not supported for learner", meaning::no_effect, remedy::ask_again},
    known_rejection{"not capable", meaning::no_effect, remedy::ask_again},
    known_rejection{"too many requests", meaning::no_effect, remedy::ask_again},
    known_rejection{"failed to connect to all addresses", meaning::no_effect, remedy::ask_again},
    known_rejection{"connections to all backends failing", meaning::no_effect, remedy::ask_again},
    known_rejection{"leader changed", meaning::unknown, remedy::other_node},
    known_rejection{"request timed out", meaning::unknown, remedy::other_node},
    known_rejection{"server stopped", meaning::unknown, remedy::other_node},
    known_rejection{"database space exceeded", meaning::rejected, remedy::tell,
                    "compact and defragment it, then disarm the alarm; docs/stores/etcd.md"},
    known_rejection{"corrupt cluster", meaning::rejected},
    known_rejection{"requested lease not found", meaning::rejected},
    known_rejection{"too large lease TTL", meaning::rejected},
    known_rejection{"request is too large", meaning::rejected},
};

// What may have come after a write was applied says nothing of it.
errc unless_written(errc otherwise, effect possible) {
    return possible == effect::possible ? errc::outcome_unknown : otherwise;
}

errc code_of(meaning what, effect possible) {
    switch (what) {
        case meaning::denied:
            return errc::denied;
        case meaning::rejected:
            return errc::rejected;
        case meaning::unsupported:
            return errc::unsupported;
        case meaning::unknown:
            return unless_written(errc::unreachable, possible);
        case meaning::no_effect:
        case meaning::expired_login:
            break;
    }
    return errc::unreachable;
}

// Where etcd said nothing, gRPC's own code is what there is.
rejection by_code(std::string detail, const grpc::Status& status, effect what,
                  std::string_view place, std::string_view waited) {
    switch (status.error_code()) {
        case grpc::StatusCode::DEADLINE_EXCEEDED:
            detail = std::string{place} + ": no answer within " + std::string{waited};
            return {{code_of(meaning::unknown, what), std::move(detail)}, remedy::other_node};
        case grpc::StatusCode::UNAVAILABLE:
        case grpc::StatusCode::CANCELLED:
        case grpc::StatusCode::ABORTED:
        case grpc::StatusCode::UNKNOWN:
            return {{code_of(meaning::unknown, what), std::move(detail)}, remedy::other_node};
        case grpc::StatusCode::UNAUTHENTICATED:
        case grpc::StatusCode::PERMISSION_DENIED:
            return {{errc::denied, std::move(detail)}, remedy::tell};
        case grpc::StatusCode::UNIMPLEMENTED:
            return {{errc::unsupported, detail + " (etcd 3.4 or newer is needed)"}, remedy::tell};
        case grpc::StatusCode::INTERNAL:
            return {{unless_written(errc::protocol, what), std::move(detail)}, remedy::other_node};
        // gRPC itself makes none of these: a server has judged the request.
        case grpc::StatusCode::INVALID_ARGUMENT:
        case grpc::StatusCode::NOT_FOUND:
        case grpc::StatusCode::ALREADY_EXISTS:
        case grpc::StatusCode::FAILED_PRECONDITION:
        case grpc::StatusCode::OUT_OF_RANGE:
            return {{errc::rejected, std::move(detail)}, remedy::tell};
        default:
            return {{unless_written(errc::rejected, what), std::move(detail)}, remedy::tell};
    }
}

}  // namespace

rejection explain_rejection(const std::string& place, const grpc::Status& status, effect what,
                            std::string_view waited) {
    // Details are for one line of a log.
    constexpr std::size_t words_max = 300;
    const auto& message = status.error_message();
    auto detail = place + ": " + base::printable(std::string_view{message}.substr(0, words_max));
    const auto* const found =
        std::find_if(rejections.begin(), rejections.end(), [&](const known_rejection& known) {
            return message.find(known.words) != std::string::npos;
        });
    if (found == rejections.end()) return by_code(std::move(detail), status, what, place, waited);
    if (!found->advice.empty()) detail.append(" (").append(found->advice).append(")");
    return {{code_of(found->what, what), std::move(detail)}, found->cure};
}

failure unreadable_answer(const std::string& place, const char* path, effect what) {
    return {unless_written(errc::protocol, what),
            place + " does not speak etcd's protocol: an unexpected answer to " + path};
}

bool is_lease_missing(const failure& why) noexcept {
    return why.detail.find("requested lease not found") != std::string::npos;
}

bool is_transaction_too_long(const failure& why) noexcept {
    return why.detail.find("too many operations in txn request") != std::string::npos;
}

bool is_login_missing(const failure& why) noexcept {
    return why.detail.find("user name is empty") != std::string::npos;
}

bool is_auth_disabled(const failure& why) noexcept {
    return why.detail.find("authentication is not enabled") != std::string::npos;
}

}  // namespace pawl::etcd
