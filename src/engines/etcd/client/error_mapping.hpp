// What the errors of etcd and of gRPC mean for a caller.
#pragma once

#include <pawl/errors.hpp>

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

namespace pawl::etcd {

// Whether a request can change anything at the store. One that cannot never ends as
// `outcome_unknown`.
enum class effect { none, possible };

// What to do about a request that failed, beside telling its caller.
enum class remedy {
    tell,        // nothing
    log_in,      // the login has expired, and the request had no effect
    other_node,  // this node cannot serve for now, or is gone; the caller decides what to do
    ask_again    // the same, and the request had no effect for sure
};

struct rejection {
    failure why;
    remedy what = remedy::tell;
};

// REQUIRES: !status.ok(). `waited` is how long an answer was waited for, as people write it.
rejection explain_rejection(const std::string& place, const grpc::Status& status, effect what,
                            std::string_view waited);

// Of an answer that is none of etcd's, to a request on that path.
failure unreadable_answer(const std::string& place, const char* path, effect what);

// Whether the request failed because its etcd lease is gone. It had no effect then.
bool is_lease_missing(const failure& why) noexcept;
// Whether etcd allows fewer operations in one transaction (--max-txn-ops). It had no effect then.
bool is_transaction_too_long(const failure& why) noexcept;
// Whether the request came without a login, which this cluster asks for. It had no effect then.
bool is_login_missing(const failure& why) noexcept;
// Whether a login failed because this cluster asks for none.
bool is_auth_disabled(const failure& why) noexcept;

}  // namespace pawl::etcd
