// The write boundary: a holder that lost its lease without noticing cannot overwrite its successor.
//
// The first holder stands for one that was frozen in the middle of its work. Its lease is taken
// away, the next one writes, then the first one wakes up and writes as well. The row's fence_token
// rejects it, in the same statement that would have written.
#include <pawl/pawl.hpp>

#include <sqlite3.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>

using namespace std::chrono_literals;

namespace {

struct close_database {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct end_statement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class accounts {
public:
    accounts() {
        sqlite3* opened = nullptr;
        if (sqlite3_open("accounts.db", &opened) != SQLITE_OK)
            throw std::runtime_error{"cannot open accounts.db"};
        database_.reset(opened);
        run("create table if not exists account (id integer primary key, balance integer not null,"
            " fence_token integer not null default 0)");
        run("insert or replace into account (id, balance) values (7, 100)");
    }

    // False if the token is stale: a newer holder has written.
    bool set_balance(std::int64_t balance, pawl::fence_token token) {
        sqlite3_stmt* prepared = nullptr;
        sqlite3_prepare_v2(database_.get(),
                           "update account set balance = :balance, fence_token = :token"
                           " where id = 7 and :token >= fence_token",
                           -1, &prepared, nullptr);
        const std::unique_ptr<sqlite3_stmt, end_statement> statement{prepared};
        sqlite3_bind_int64(prepared, 1, balance);
        // Below 2^53, so that it fits whatever integer the database has.
        sqlite3_bind_int64(prepared, 2, static_cast<std::int64_t>(number(token)));
        if (sqlite3_step(prepared) != SQLITE_DONE)
            throw std::runtime_error{sqlite3_errmsg(database_.get())};
        return sqlite3_changes(database_.get()) == 1;
    }

private:
    void run(const char* statement) {
        if (sqlite3_exec(database_.get(), statement, nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error{sqlite3_errmsg(database_.get())};
    }

    std::unique_ptr<sqlite3, close_database> database_;
};

}  // namespace

int main() {
    accounts book;
    auto slow = pawl::locks::open("sqlite:locks.db"), quick = pawl::locks::open("sqlite:locks.db");

    // renewal_mode::manual: nothing renews for the slow one, as if its process were frozen.
    auto old_lease =
        slow.try_acquire("account/7", {.ttl = 200ms, .renew = pawl::renewal_mode::manual});
    if (!old_lease) return 1;
    const auto old_token = old_lease->token();

    // When its TTL has passed, the next one is granted the key under a higher token, and writes.
    auto new_lease = quick.acquire("account/7", {.ttl = 10s}, 10s);
    if (!new_lease || !book.set_balance(250, new_lease->token())) return 1;

    const bool late_write = book.set_balance(90, old_token);
    std::cout << "token " << number(new_lease->token()) << " wrote, then token "
              << number(old_token) << " came late: " << (late_write ? "written" : "rejected")
              << '\n';
    // The live holder may write as often as it likes: its token is not older.
    return !late_write && book.set_balance(260, new_lease->token()) ? 0 : 1;
}
