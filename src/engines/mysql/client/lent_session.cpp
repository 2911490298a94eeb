#include "engines/mysql/client/lent_session.hpp"

#include "engines/mysql/client/nonblocking.hpp"
#include "engines/mysql/client/pipe_guard.hpp"
#include "engines/mysql/client/statement.hpp"

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <mysql.h>

#include "keep_session_sql.hpp"
#include "restore_session_sql.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>

namespace pawl::mysql {
namespace {

// How long a server may take to undo what is left in its session.
constexpr millis undoing_bound{1000};

// GET_LOCK of one that failed while it made the tables.
constexpr std::string_view unlock{"DO RELEASE_LOCK(CONCAT('pawl.', MD5(DATABASE())))"};

int wait(MYSQL* on, int waits, instant until) {
    const auto left = std::chrono::ceil<millis>(until - lease_clock::now());
    const bool reads = (waits & MYSQL_WAIT_READ) != 0;
    pollfd one{mysql_get_socket(on), static_cast<short>(reads ? POLLIN : POLLOUT), 0};
    if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) != 1)
        return MYSQL_WAIT_TIMEOUT;
    return reads ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE;
}

// True when the server has done it. It answers without rows.
bool perform(MYSQL* on, std::string_view sql, instant until) {
    int status = 0;
    int waits = mysql_real_query_start(&status, on, sql.data(), sql.size());
    for (int i = 0; waits != 0 && i < resumes_max; ++i)
        waits = mysql_real_query_cont(&status, on, wait(on, waits, until));
    return waits == 0 && status == 0;
}

bool end_texts(MYSQL* on, instant until) {
    int status = 0;
    int waits = mysql_set_server_option_start(&status, on, MYSQL_OPTION_MULTI_STATEMENTS_OFF);
    for (int i = 0; waits != 0 && i < resumes_max; ++i)
        waits = mysql_set_server_option_cont(&status, on, wait(on, waits, until));
    return waits == 0 && status == 0;
}

bool has(const MYSQL* one, unsigned status) { return (one->server_status & status) != 0; }

bool is_ready(const MYSQL* one) {
    return one->net.pvio != nullptr && one->status == MYSQL_STATUS_READY &&
           !has(one, SERVER_MORE_RESULTS_EXIST);
}

// MariaDB and MySQL have two names for the same.
std::string named(std::string_view file, MYSQL* server) {
    const bool maria = mariadb_connection(server) != 0;
    return statement{file}.with({{"isolation", maria ? "tx_isolation" : "transaction_isolation"},
                                 {"read_only", maria ? "tx_read_only" : "transaction_read_only"}});
}

}  // namespace

std::optional<failure> lent_session::reject(const std::string& place) const {
    const auto* one = connection_.get();
    const auto rejected = [&](const char* why) {
        return failure{errc::rejected, place + ": the application's connection " + why};
    };
    if (one->net.pvio == nullptr)
        return failure{errc::unreachable, place + ": the application's connection is not open"};
    if (!is_ready(one)) return rejected("has a result that was not read");
    if (has(one, SERVER_STATUS_IN_TRANS))
        return rejected("is in a transaction: commit or roll back before it is given");
    if ((one->client_flag & CLIENT_FOUND_ROWS) != 0)
        return rejected("counts the rows that were found: make it without CLIENT_FOUND_ROWS");
    return std::nullopt;
}

void lent_session::take() {
    auto* one = connection_.get();
    taken_ = true;
    takes_texts_ = (one->client_flag & CLIENT_MULTI_STATEMENTS) != 0;
    // Another connection in its place would have none of the session's settings.
    reconnects_ = one->options.reconnect;
    const my_bool no = 0;
    mysql_options(one, MYSQL_OPT_RECONNECT, &no);
    const std::size_t stack = stack_bytes;
    mysql_options(one, MYSQL_OPT_NONBLOCK, &stack);
    const auto socket = static_cast<int>(mysql_get_socket(one));
    flags_ = ::fcntl(socket, F_GETFL);
    ::fcntl(socket, F_SETFL, flags_ | O_NONBLOCK);
}

std::string lent_session::keeping() const {
    return named(embedded::keep_session_sql, connection_.get());
}

lent_session::~lent_session() {
    if (!taken_) return;
    auto* one = connection_.get();
    const pipe_guard guard{true};
    const bool is_whole = !spoilt_ && put_in_order();
    if (!is_whole) spoil();
    // Statements are the library's as well.
    for (auto* each : prepared_) mysql_stmt_close(each);
    const my_bool again = reconnects_;
    mysql_options(one, MYSQL_OPT_RECONNECT, &again);
    if (const auto socket = static_cast<int>(mysql_get_socket(one)); is_whole && socket >= 0)
        ::fcntl(socket, F_SETFL, flags_);
}

// True when nothing of ours is left in it but statements to be closed.
bool lent_session::put_in_order() const {
    auto* one = connection_.get();
    if (!is_ready(one)) return false;
    const auto until = lease_clock::now() + undoing_bound;
    if (has(one, SERVER_STATUS_IN_TRANS) && !perform(one, "ROLLBACK", until)) return false;
    if (changed_ && (!perform(one, unlock, until) ||
                     !perform(one, named(embedded::restore_session_sql, one), until)))
        return false;
    if (!takes_texts_ && !end_texts(one, until)) return false;
    return is_ready(one) && !has(one, SERVER_STATUS_IN_TRANS);
}

void lent_session::spoil() {
    spoilt_ = true;
    const auto socket = static_cast<int>(mysql_get_socket(connection_.get()));
    if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
}

}  // namespace pawl::mysql
