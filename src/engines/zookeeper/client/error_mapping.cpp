#include "engines/zookeeper/client/error_mapping.hpp"

#include "base/text.hpp"

#include <zookeeper/zookeeper.h>

#include <string>

namespace pawl::zookeeper {

result<finding_code> judge_code(int code, bool wrote, std::string_view place,
                                std::string_view path) {
    const auto fail = [&](errc meaning, std::string_view advice) {
        auto detail = std::string{place} + ": " + zerror(code);
        if (!path.empty()) detail.append(" at ").append(base::printable(path));
        if (!advice.empty()) detail.append(" (").append(advice).append(")");
        return failure{meaning, std::move(detail)};
    };
    switch (code) {
        case ZOK:
            return finding_code::done;
        case ZNONODE:
            return finding_code::no_node;
        case ZNODEEXISTS:
            return finding_code::node_exists;
        case ZBADVERSION:
            return finding_code::bad_version;
        case ZNOTEMPTY:
            return finding_code::not_empty;
        case ZNOAUTH:
            return fail(errc::denied,
                        "the znode's ACL wants another user:password@, with cdrw; see "
                        "docs/stores/zookeeper.md");
        case ZAUTHFAILED:
            return fail(errc::denied, "the server rejected user:password@");
        case ZINVALIDACL:
            return fail(errc::denied, "acl=creator needs user:password@");
        case ZSESSIONCLOSEDREQUIRESASLAUTH:
            return fail(errc::denied, "the server wants SASL, which its C client cannot");
        case ZNOTREADONLY:
            return fail(errc::rejected, "this server has lost its quorum and is read-only");
        case ZEPHEMERALONLOCALSESSION:
            return fail(errc::rejected, "switch localSessionsEnabled off");
        case ZUNIMPLEMENTED:
            return fail(errc::unsupported, "ZooKeeper 3.5 or newer is needed");
        case ZTHROTTLEDOP:
            return fail(errc::unreachable, {});
        // Told by the client when the connection or the session is gone: what was sent may have
        // been executed before.
        case ZCONNECTIONLOSS:
        case ZOPERATIONTIMEOUT:
        case ZCLOSING:
        case ZINVALIDSTATE:
        case ZSESSIONEXPIRED:
        case ZSESSIONMOVED:
            return fail(wrote ? errc::outcome_unknown : errc::unreachable, {});
        default:
            return fail(errc::rejected, {});
    }
}

}  // namespace pawl::zookeeper
