// One connection to a MySQL or MariaDB, through the non-blocking half of libmariadb: the loop waits
// for the socket, so no thread does.
//
// Its handshake of TLS does block, so such a log-in is made on a thread of the loop's pool.
//
// The client library has no timeouts that suit a lease: it counts whole seconds. Here the caller
// calls abort() when the time is up.
#pragma once

#include "engines/mysql/client/error_mapping.hpp"
#include "engines/mysql/client/lent_session.hpp"
#include "engines/mysql/client/mysql_settings.hpp"
#include "engines/mysql/client/statement.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/examination.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct st_mysql;
struct st_mysql_res;
struct st_mysql_stmt;

namespace pawl::mysql {

// What one statement answered: rows to step through, or how many it changed.
class answer {
public:
    std::uint64_t affected = 0;
    std::uint64_t insert_id = 0;

    // Moves to the next row, before the first call to the first.
    bool next();
    // Of the row moved to; of a NULL they are empty and 0.
    std::string_view text(unsigned column) const;
    std::int64_t integer(unsigned column) const;
    bool is_null(unsigned column) const;

private:
    friend class link;
    struct result_deleter {
        void operator()(st_mysql_res* result) const noexcept;
    };

    std::unique_ptr<st_mysql_res, result_deleter> rows_;
    char** row_ = nullptr;
    unsigned long* sizes_ = nullptr;
};

// Of a text with several statements: those before the one that failed have had their effect.
struct reply {
    std::vector<answer> answers;  // of the statements that worked, in order
    std::optional<server_error> error;
};

// Used on its loop only, by one coroutine at a time, but for abort().
class link final : private net::io_object {
public:
    using executor_type = net::loop::executor_type;

    explicit link(net::loop& where)
        : net::io_object{where.get_executor()}, loop_{where}, socket_{where.get_executor()} {}

    executor_type get_executor() const { return loop_.get_executor(); }
    ~link() { close(); }
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    // Logs in at a host, or at the Unix socket of the settings. REQUIRES: not connected; a host
    // that is an address, unless there is TLS, whose certificate must then be the host's or for the
    // server_name of the settings. These must stay until it ends.
    boost::asio::awaitable<std::optional<server_error>> connect(const mysql_settings& settings,
                                                                std::string host);
    // The application's, in place of connect(). What is rejected goes back with close(), unchanged.
    std::optional<failure> adopt(std::shared_ptr<st_mysql> given, const std::string& place);
    // Before anything else is asked over such a one.
    boost::asio::awaitable<std::optional<server_error>> keep_session();
    // `sql` must stay until it ends. REQUIRES: connected.
    boost::asio::awaitable<reply> ask(std::string_view sql);
    // The same. As a text where the server does not prepare it.
    boost::asio::awaitable<reply> call(const prepared_call& what);

    // The server has not ended the connection, and has not said anything unasked.
    bool is_alive() const;
    bool is_connected() const noexcept { return handle_ != nullptr; }
    // What runs ends soon, with an error; the connection is of no use after that.
    void abort();
    bool was_aborted() const noexcept { return aborted_; }
    // Forgets that it was aborted, before another attempt.
    void reset() noexcept {
        aborted_ = false;
        foreign_ = false;
    }
    // A peer whose first bytes are no greeting of a MySQL.
    bool is_foreign() const noexcept { return foreign_; }
    void close() noexcept;

    // The certificate of the peer; empty without TLS.
    std::optional<finding> examine_tls() const;

    // When abort() is due; set and watched by the pool.
    instant deadline = instant::max();
    instant used{};  // when it last had an answer

private:
    void context_ends() noexcept override;
    enum class step { none, connect, send, read, next, store, prepare, execute, allow_texts };

    int begin(step what);
    int resume(int events);
    boost::asio::awaitable<void> perform(step what);
    boost::asio::awaitable<int> ready(int waits);
    void follow_socket();
    bool welcomes();
    bool prepare(const mysql_settings& settings);
    void perform_here(instant until);
    int ready_here(int waits, instant until);
    std::optional<server_error> verify_name(const std::string& name) const;
    void take_answer(reply& into);
    boost::asio::awaitable<bool> prepare_statement(const statement& what);
    bool bind(const prepared_call& what);
    boost::asio::awaitable<reply> call_as_text(const prepared_call& what);
    server_error fault() const;
    void give_back() noexcept;

    net::loop& loop_;
    boost::asio::posix::basic_stream_descriptor<net::loop::io_executor_type> socket_;
    st_mysql* handle_ = nullptr;
    std::shared_ptr<lent_session> lent_;  // whose connection it is, if not ours
    int descriptor_ = -1;  // the library's own; ours is a duplicate, whose end we decide
    step suspended_ = step::none;
    bool under_way_ = false;            // something was asked, and not all of its answer is there
    std::atomic<bool> aborted_{false};  // looked at by a thread that logs in
    std::atomic<int> dialled_{-1};      // a duplicate of its socket, to end it by
    bool foreign_ = false;
    bool secure_ = false;
    int socket_error_ = 0;  // of the attempt to connect
    std::map<const statement*, st_mysql_stmt*> prepared_;
    bool prepares_ = true;  // false once the server did not, or has forgotten one

    // Of the step that is under way
    const mysql_settings* settings_ = nullptr;
    std::string host_;
    std::string_view sql_;
    st_mysql* connected_ = nullptr;
    st_mysql_res* result_ = nullptr;
    st_mysql_stmt* statement_ = nullptr;
    int status_ = 0;
    char failed_ = 0;
};

}  // namespace pawl::mysql
