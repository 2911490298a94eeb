// A MYSQL of the application's: looked at before it is used, and put in order before it goes back.
#pragma once

#include <pawl/errors.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct st_mysql;
struct st_mysql_stmt;

namespace pawl::mysql {

// Used by one thread at a time. Its destructor waits for the server, for a second at most, and
// releases the connection: it is run on a thread that may block.
class lent_session {
public:
    explicit lent_session(std::shared_ptr<st_mysql> given) : connection_{std::move(given)} {}
    ~lent_session();
    lent_session(const lent_session&) = delete;
    lent_session& operator=(const lent_session&) = delete;

    st_mysql* get() const noexcept { return connection_.get(); }
    // Why it cannot be used as it is given; nothing: it can.
    std::optional<failure> reject(const std::string& place) const;
    // From here on it is changed. REQUIRES: reject() had nothing to say.
    void take();
    // A statement that keeps what pawl's own will change. Once that has been run, changed().
    std::string keeping() const;
    void changed() noexcept { changed_ = true; }
    // False: a text has one statement at most.
    bool takes_texts() const noexcept { return takes_texts_; }
    // What is left in it, with the statements of this link.
    void leave(std::vector<st_mysql_stmt*> prepared) { prepared_ = std::move(prepared); }
    // An end of the connection that its next use sees: something is under way.
    void spoil();

private:
    bool put_in_order() const;

    const std::shared_ptr<st_mysql> connection_;
    bool taken_ = false;
    bool changed_ = false;
    bool spoilt_ = false;
    std::vector<st_mysql_stmt*> prepared_;
    // As they came
    bool takes_texts_ = false;
    char reconnects_ = 0;
    int flags_ = 0;  // of the socket
};

}  // namespace pawl::mysql
