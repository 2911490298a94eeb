// A connection of the application's: looked at before it is used, and put in order before it goes
// back.
#pragma once

#include "engines/postgresql/client/statement.hpp"

#include <pawl/errors.hpp>

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace pawl::postgresql {

struct reply;

// Used by one thread at a time. Its destructor waits for the server, for a second at most, and
// releases the connection: it is run on a thread that may block.
class lent_connection {
public:
    explicit lent_connection(std::shared_ptr<PGconn> given) : connection_{std::move(given)} {}
    ~lent_connection();
    lent_connection(const lent_connection&) = delete;
    lent_connection& operator=(const lent_connection&) = delete;

    PGconn* get() const noexcept { return connection_.get(); }
    // From here on it is changed. REQUIRES: reject() had nothing to say.
    void take();
    // What is left in the session until this statement undoes it.
    void leave(std::string undone_by) { left_.insert(std::move(undone_by)); }
    void forget(const std::string& undone_by) { left_.erase(undone_by); }

private:
    bool put_in_order() const;
    void spoil() const;

    const std::shared_ptr<PGconn> connection_;
    bool taken_ = false;
    bool blocked_ = true;  // as it came
    std::set<std::string> left_;
};

// Why a connection cannot be used as it is given; nothing: it can.
std::optional<failure> reject(const PGconn* given, const std::string& place);

// What only the server knows: whether it is a standby, and to how many channels the session
// listens.
extern const std::string_view state_question;
std::optional<failure> reject(const reply& state, const std::string& place);

// Of the server that it is connected to.
std::string place_of(const PGconn* connection);

}  // namespace pawl::postgresql
