#include "engines/mysql/client/link.hpp"

#include "base/ensure.hpp"
#include "base/number.hpp"
#include "engines/mysql/client/bound_value.hpp"
#include "engines/mysql/client/nonblocking.hpp"
#include "engines/mysql/client/pipe_guard.hpp"
#include "net/tls.hpp"

#include <mysql.h>

#include <errmsg.h>
// What its private headers expect: that TLS is built in, as it is in Debian's, and a name for
// bytes.
#define HAVE_TLS
using uchar = unsigned char;
extern "C" {
#include <ma_pvio.h>
}

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace pawl::mysql {
namespace {

// Of one prepared statement.
constexpr std::size_t values_max = 16;

// Plugins that do not send the password as it is: without TLS a server may ask for no other.
constexpr const char* plugins_without_tls =
    "mysql_native_password,caching_sha2_password,sha256_password,client_ed25519,"
    "auth_gssapi_client";

// The library would ignore SIGPIPE for the whole process, and for the commands that it starts.
void start_library() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction before{};
        ::sigaction(SIGPIPE, nullptr, &before);
        mysql_server_init(0, nullptr, nullptr);
        ::sigaction(SIGPIPE, &before, nullptr);
    });
}

bool exists(const char* path) {
    struct stat found{};
    return ::stat(path, &found) == 0;
}

// Without authorities the library would verify nothing at all.
void set_authorities(MYSQL* handle, const net::tls_settings& tls) {
    if (!tls.ca.empty()) {
        mysql_options(handle, MYSQL_OPT_SSL_CA, tls.ca.c_str());
        return;
    }
    if (const auto* file = X509_get_default_cert_file(); exists(file))
        mysql_options(handle, MYSQL_OPT_SSL_CA, file);
    mysql_options(handle, MYSQL_OPT_SSL_CAPATH, X509_get_default_cert_dir());
}

void set_tls(MYSQL* handle, const net::tls_settings& tls) {
    const my_bool yes = 1, compares_host = tls.server_name.empty() ? 1 : 0;
    mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &compares_host);
    mysql_options(handle, MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
    // What the handshake waits for once more when a read has taken too long.
    const unsigned one_second = 1;
    mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &one_second);
    set_authorities(handle, tls);
    if (tls.certificate.empty()) return;
    const auto& key = tls.key.empty() ? tls.certificate : tls.key;
    mysql_options(handle, MYSQL_OPT_SSL_CERT, tls.certificate.c_str());
    mysql_options(handle, MYSQL_OPT_SSL_KEY, key.c_str());
}

SSL* session_of(const MYSQL* handle) {
    if (handle == nullptr || handle->net.pvio == nullptr || handle->net.pvio->ctls == nullptr)
        return nullptr;
    return static_cast<SSL*>(handle->net.pvio->ctls->ssl);
}

// A greeting is packet 0, of version 10 or an error. The library would wait for as many bytes as a
// stranger's first three happen to say.
bool is_greeting(const std::array<unsigned char, 5>& bytes) {
    return bytes[3] == 0 && (bytes[4] == PROTOCOL_VERSION || bytes[4] == 0xff);
}

// The handshake reads with read(2): it must end even where no thread is left to call abort().
void bound_reads(int descriptor, instant until) {
    const auto left = std::max(std::chrono::ceil<millis>(until - lease_clock::now()), millis{1});
    const timeval bound{left.count() / 1000, left.count() % 1000 * 1000};
    ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
}

}  // namespace

// ---- Answers

void answer::result_deleter::operator()(st_mysql_res* result) const noexcept {
    mysql_free_result(result);
}

bool answer::next() {
    if (!rows_) return false;
    row_ = mysql_fetch_row(rows_.get());
    sizes_ = row_ == nullptr ? nullptr : mysql_fetch_lengths(rows_.get());
    return row_ != nullptr;
}

bool answer::is_null(unsigned column) const {
    return row_ == nullptr || column >= mysql_num_fields(rows_.get()) || row_[column] == nullptr;
}

std::string_view answer::text(unsigned column) const {
    return is_null(column) ? std::string_view{} : std::string_view{row_[column], sizes_[column]};
}

std::int64_t answer::integer(unsigned column) const {
    return base::leading_number<std::int64_t>(text(column)).value_or(0);
}

// ---- Steps of the library

int link::begin(step what) {
    const pipe_guard guard{secure_};
    switch (what) {
        case step::connect: {
            const auto& to = *settings_;
            const bool local = !to.unix_path.empty();
            return mysql_real_connect_start(
                &connected_, handle_, local ? "localhost" : host_.c_str(), to.user.c_str(),
                to.password.c_str(), to.database.c_str(), to.port,
                local ? to.unix_path.c_str() : nullptr, CLIENT_MULTI_STATEMENTS);
        }
        case step::send:
            return mysql_send_query_start(&status_, handle_, sql_.data(), sql_.size());
        case step::read:
            return mysql_read_query_result_start(&failed_, handle_);
        case step::next:
            return mysql_next_result_start(&status_, handle_);
        case step::store:
            return mysql_store_result_start(&result_, handle_);
        case step::prepare:
            return mysql_stmt_prepare_start(&status_, statement_, sql_.data(), sql_.size());
        case step::execute:
            return mysql_stmt_execute_start(&status_, statement_);
        case step::allow_texts:
            return mysql_set_server_option_start(&status_, handle_,
                                                 MYSQL_OPTION_MULTI_STATEMENTS_ON);
        case step::none:
            break;
    }
    return 0;
}

int link::resume(int events) {
    const pipe_guard guard{secure_};
    switch (suspended_) {
        case step::connect:
            return mysql_real_connect_cont(&connected_, handle_, events);
        case step::send:
            return mysql_send_query_cont(&status_, handle_, events);
        case step::read:
            return mysql_read_query_result_cont(&failed_, handle_, events);
        case step::next:
            return mysql_next_result_cont(&status_, handle_, events);
        case step::store:
            return mysql_store_result_cont(&result_, handle_, events);
        case step::prepare:
            return mysql_stmt_prepare_cont(&status_, statement_, events);
        case step::execute:
            return mysql_stmt_execute_cont(&status_, statement_, events);
        case step::allow_texts:
            return mysql_set_server_option_cont(&status_, handle_, events);
        case step::none:
            break;
    }
    return 0;
}

boost::asio::awaitable<void> link::perform(step what) {
    int waits = begin(what);
    while (waits != 0) {
        suspended_ = what;
        const int events = co_await ready(waits);
        waits = resume(events);
    }
    suspended_ = step::none;
}

// The library may try several sockets while it connects.
void link::follow_socket() {
    const auto now = static_cast<int>(mysql_get_socket(handle_));
    if (now == descriptor_ && socket_.is_open()) return;
    boost::system::error_code ignored;
    socket_.close(ignored);
    descriptor_ = now;
    const int copy = ::fcntl(now, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0) socket_.assign(copy, ignored);
}

boost::asio::awaitable<int> link::ready(int waits) {
    follow_socket();
    if (aborted_ || !socket_.is_open()) co_return MYSQL_WAIT_TIMEOUT;
    using descriptor = boost::asio::posix::descriptor_base;
    const bool reads = (waits & MYSQL_WAIT_READ) != 0;
    const bool greeted = suspended_ != step::connect || handle_->host != nullptr;
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    if (!reads) co_await socket_.async_wait(descriptor::wait_write, token);
    // The server speaks first: its greeting is looked at before the library takes it.
    if (!error && (reads || !greeted)) co_await socket_.async_wait(descriptor::wait_read, token);
    if (error || aborted_) co_return MYSQL_WAIT_TIMEOUT;
    if (!greeted && !welcomes()) co_return MYSQL_WAIT_TIMEOUT;
    co_return reads ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE;
}

// A look at the first bytes, without taking them. It does take the error of the socket, if any.
bool link::welcomes() {
    std::array<unsigned char, 5> first{};
    const auto got = ::recv(descriptor_, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK) socket_error_ = errno;
    foreign_ = got == static_cast<ssize_t>(first.size()) && !is_greeting(first);
    return socket_error_ == 0 && !foreign_;
}

server_error link::fault() const { return {mysql_errno(handle_), mysql_error(handle_)}; }

// ---- Connecting

bool link::prepare(const mysql_settings& settings) {
    start_library();
    handle_ = mysql_init(nullptr);
    if (handle_ == nullptr) return false;
    const std::size_t stack = stack_bytes;
    mysql_options(handle_, MYSQL_OPT_NONBLOCK, &stack);
    const my_bool no = 0;
    mysql_options(handle_, MYSQL_OPT_RECONNECT, &no);
    // Or a server could ask for any file of this machine.
    const unsigned none = 0;
    mysql_options(handle_, MYSQL_OPT_LOCAL_INFILE, &none);
    mysql_options(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (settings.unix_path.empty()) {
        const unsigned tcp = MYSQL_PROTOCOL_TCP;
        mysql_options(handle_, MYSQL_OPT_PROTOCOL, &tcp);
    }
    secure_ = settings.tls.has_value();
    if (secure_)
        set_tls(handle_, *settings.tls);
    else if (settings.unix_path.empty())
        mysql_options(handle_, MARIADB_OPT_RESTRICTED_AUTH, plugins_without_tls);
    return true;
}

// The library compares the certificate with the host before it logs in; with another name it
// cannot. Nothing is asked over a connection whose name was not compared.
std::optional<server_error> link::verify_name(const std::string& name) const {
    auto* session = session_of(handle_);
    auto* certificate = session == nullptr ? nullptr : SSL_get0_peer_certificate(session);
    if (certificate != nullptr &&
        (X509_check_host(certificate, name.c_str(), name.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1))
        return std::nullopt;
    return server_error{CR_SSL_CONNECTION_ERROR, "the certificate is not for " + name};
}

// On a thread that may block.
int link::ready_here(int waits, instant until) {
    const bool reads = (waits & MYSQL_WAIT_READ) != 0;
    const bool greeted = handle_->host != nullptr;
    for (const short event : {short{POLLOUT}, short{POLLIN}}) {
        if (event == POLLOUT ? reads : !reads && greeted) continue;
        const auto left = std::chrono::ceil<millis>(until - lease_clock::now());
        pollfd one{descriptor_, event, 0};
        if (aborted_ || left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) < 1)
            return MYSQL_WAIT_TIMEOUT;
    }
    if (!greeted && !welcomes()) return MYSQL_WAIT_TIMEOUT;
    return reads ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE;
}

void link::perform_here(instant until) {
    int waits = begin(step::connect);
    while (waits != 0) {
        suspended_ = step::connect;
        descriptor_ = static_cast<int>(mysql_get_socket(handle_));
        if (dialled_ < 0) dialled_ = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
        bound_reads(descriptor_, until);
        waits = resume(ready_here(waits, until));
    }
    suspended_ = step::none;
    // The handshake leaves the socket in the mode that blocks.
    if (connected_ != nullptr) {
        descriptor_ = static_cast<int>(mysql_get_socket(handle_));
        ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
    }
}

boost::asio::awaitable<std::optional<server_error>> link::connect(const mysql_settings& settings,
                                                                  std::string host) {
    base::ensure(handle_ == nullptr);
    settings_ = &settings;
    host_ = std::move(host);
    connected_ = nullptr;
    socket_error_ = 0;
    if (!prepare(settings))
        co_return server_error{CR_OUT_OF_MEMORY, "the client library has no memory"};
    if (secure_) {
        auto job = [this, until = deadline] {
            perform_here(until);
            return true;
        };
        co_await loop_.run_blocking(std::move(job));
        if (const int copy = dialled_.exchange(-1); copy >= 0) ::close(copy);
    } else {
        co_await perform(step::connect);
    }
    // Registered anew with the first wait for an answer: once it has been waited on until it could
    // be written to, each later wait would end twice.
    boost::system::error_code ignored;
    socket_.close(ignored);
    settings_ = nullptr;
    if (connected_ == nullptr && socket_error_ != 0)
        co_return server_error{CR_CONNECTION_ERROR, std::strerror(socket_error_)};
    if (connected_ == nullptr) co_return fault();
    if (secure_) {
        const auto& name = settings.tls->server_name;
        co_return verify_name(name.empty() ? host_ : name);
    }
    co_return std::nullopt;
}

// ---- Borrowing

std::optional<failure> link::adopt(std::shared_ptr<st_mysql> given, const std::string& place) {
    base::ensure(handle_ == nullptr);
    start_library();
    lent_ = std::make_shared<lent_session>(std::move(given));
    if (auto unfit = lent_->reject(place)) return unfit;
    lent_->take();
    handle_ = lent_->get();
    descriptor_ = static_cast<int>(mysql_get_socket(handle_));
    under_way_ = false;
    secure_ = session_of(handle_) != nullptr;
    return std::nullopt;
}

boost::asio::awaitable<std::optional<server_error>> link::keep_session() {
    const auto keeping = lent_->keeping();
    const auto kept = co_await ask(keeping);
    if (kept.error) co_return kept.error;
    lent_->changed();
    if (lent_->takes_texts()) co_return std::nullopt;
    co_await perform(step::allow_texts);
    if (status_ != 0) co_return fault();
    co_return std::nullopt;
}

// To put it in order takes an answer of the server.
void link::give_back() noexcept {
    try {
        std::vector<st_mysql_stmt*> prepared;
        for (const auto& [unused, each] : prepared_) prepared.push_back(each);
        lent_->leave(std::move(prepared));
        if (under_way_) lent_->spoil();
        loop_.hand_to_pool([lent = std::move(lent_)] {});
    } catch (...) {
        // Without a thread for it, it went here.
    }
    lent_.reset();
}

// ---- Asking

void link::take_answer(reply& into) {
    auto& added = into.answers.emplace_back();
    added.affected = mysql_affected_rows(handle_);
    added.insert_id = mysql_insert_id(handle_);
}

boost::asio::awaitable<reply> link::ask(std::string_view sql) {
    reply got;
    sql_ = sql;
    under_way_ = true;
    co_await perform(step::send);
    bool more = status_ == 0;
    if (!more) got.error = fault();
    // A reply is never there yet: to look for it would cost a system call.
    if (more) co_await ready(MYSQL_WAIT_READ);
    for (bool first = true; more; first = false) {
        co_await perform(first ? step::read : step::next);
        if (first ? failed_ != 0 : status_ != 0) {
            got.error = fault();
            break;
        }
        take_answer(got);
        if (mysql_field_count(handle_) > 0) {
            co_await perform(step::store);
            got.answers.back().rows_.reset(std::exchange(result_, nullptr));
            if (!got.answers.back().rows_) {
                got.error = fault();
                break;
            }
        }
        more = mysql_more_results(handle_) != 0;
    }
    under_way_ = false;
    co_return got;
}

// ---- Prepared statements

// False when the connection is over. Where only the statement is rejected, texts are sent from then
// on.
boost::asio::awaitable<bool> link::prepare_statement(const statement& what) {
    statement_ = mysql_stmt_init(handle_);
    if (statement_ == nullptr) {
        prepares_ = false;
        co_return true;
    }
    prepared_[&what] = statement_;
    const auto text = what.prepared();
    sql_ = text;
    co_await perform(step::prepare);
    sql_ = {};
    if (status_ == 0) co_return true;
    const server_error why{mysql_stmt_errno(statement_), {}};
    if (is_of_client(why) || ends_unasked(why)) co_return false;
    prepares_ = false;
    co_return true;
}

// The library copies what points to the values, not the values.
bool link::bind(const prepared_call& what) {
    std::array<MYSQL_BIND, values_max> all{};
    std::size_t count = 0;
    for (const auto name : what.of->names()) {
        base::ensure(count < values_max);
        all[count++] = bound_value(what.find(name));
    }
    return mysql_stmt_bind_param(statement_, all.data()) == 0;
}

boost::asio::awaitable<reply> link::call_as_text(const prepared_call& what) {
    const auto text = what.text();
    co_return co_await ask(text);
}

boost::asio::awaitable<reply> link::call(const prepared_call& what) {
    reply got;
    under_way_ = true;
    const auto found = prepared_.find(what.of);
    if (prepares_ && found == prepared_.end()) {
        const bool stands = co_await prepare_statement(*what.of);
        if (!stands) {
            got.error = server_error{mysql_stmt_errno(statement_), mysql_stmt_error(statement_)};
            co_return got;
        }
    } else if (prepares_) {
        statement_ = found->second;
    }
    if (!prepares_ || !bind(what)) co_return co_await call_as_text(what);
    co_await perform(step::execute);
    under_way_ = false;
    if (status_ == 0) {
        auto& added = got.answers.emplace_back();
        added.affected = mysql_stmt_affected_rows(statement_);
        added.insert_id = mysql_stmt_insert_id(statement_);
        co_return got;
    }
    got.error = server_error{mysql_stmt_errno(statement_), mysql_stmt_error(statement_)};
    if (!lost_prepared_statement(*got.error)) co_return got;
    prepares_ = false;
    co_return co_await call_as_text(what);
}

// ---- The end

bool link::is_alive() const {
    if (handle_ == nullptr || aborted_) return false;
    char byte = 0;
    const auto got = ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void link::abort() {
    aborted_ = true;
    if (const int copy = dialled_; copy >= 0) ::shutdown(copy, SHUT_RDWR);
    boost::system::error_code ignored;
    socket_.cancel(ignored);
}

// What waits for it is destroyed with its link.
void link::context_ends() noexcept {
    boost::system::error_code ignored;
    socket_.close(ignored);
}

void link::close() noexcept {
    boost::system::error_code ignored;
    socket_.close(ignored);
    if (const int copy = dialled_.exchange(-1); copy >= 0) ::close(copy);
    if (handle_ == nullptr) {
        // Rejected, and unchanged.
        if (lent_) give_back();
        return;
    }
    const auto descriptor = static_cast<int>(mysql_get_socket(handle_));
    // What is said from here on is of no interest, and must not take time.
    if (descriptor >= 0 && (suspended_ != step::none || aborted_))
        ::shutdown(descriptor, SHUT_RDWR);
    // A step that is given up in the middle keeps what it has allocated: it must come to its end.
    for (int i = 0; suspended_ != step::none && i < resumes_max; ++i)
        if (resume(MYSQL_WAIT_TIMEOUT) == 0) suspended_ = step::none;
    if (result_ != nullptr) mysql_free_result(std::exchange(result_, nullptr));
    if (lent_) {
        handle_ = nullptr;
        give_back();
    } else {
        const pipe_guard guard{secure_};
        mysql_close(std::exchange(handle_, nullptr));
        // Only now, as they would tell the server of it.
        for (const auto& [unused, each] : prepared_) mysql_stmt_close(each);
    }
    prepared_.clear();
    prepares_ = true;
    descriptor_ = -1;
    suspended_ = step::none;
}

std::optional<finding> link::examine_tls() const {
    const auto* session = session_of(handle_);
    if (session == nullptr) return std::nullopt;
    return net::examine_peer(session);
}

}  // namespace pawl::mysql
