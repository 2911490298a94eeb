// One connection of libpq on the loop: libpq speaks the protocol, Asio waits for its socket.
//
// libpq's own timeouts and its ways to wait are those of blocking callers; so servers are tried
// here one by one, each with a share of the time, and names are resolved before libpq would block
// on it.
#pragma once

#include "engines/postgresql/client/lent_connection.hpp"
#include "engines/postgresql/client/postgresql_settings.hpp"
#include "engines/postgresql/client/statement.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::postgresql {

// What answered a statement that was not sent in the pipeline. An error is a value.
struct reply {
    rows got;
    std::string sqlstate;  // empty: it worked
    std::string message;
};

// Used on its loop only. close() ends every wait soon; a waiter keeps the wire alive.
class wire final : public std::enable_shared_from_this<wire>, private net::io_object {
public:
    using executor_type = net::loop::executor_type;
    using descriptor_type =
        boost::asio::posix::basic_stream_descriptor<net::loop::io_executor_type>;

    explicit wire(net::loop& where)
        : net::io_object{where.get_executor()}, loop_{where}, socket_{where.get_executor()} {}
    ~wire() { close(); }
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    // Tries the servers in order until `deadline`, or asks the application for a connection. A
    // failure is what the last of them said, or what will not pass.
    static async<void> connect(std::shared_ptr<wire> self,
                               std::shared_ptr<const connection_target> target, instant deadline);

    // REQUIRES, both: connected, not in pipeline mode. SQL is sent as it is, several statements
    // too.
    static async<reply> query(std::shared_ptr<wire> self, std::string sql);
    bool start_pipeline();

    // Whether, since it was asked last, a transaction was committed that its synchronous standby
    // may not have: the wait for it was cancelled. Never of a connection of the application's,
    // whose notices go where it wants them.
    bool take_unreplicated() noexcept { return std::exchange(unreplicated_, false); }

    // What a connection of the application's is rid of before it goes back, by this statement.
    void leaves(std::string undone_by) {
        if (lent_) lent_->leave(std::move(undone_by));
    }
    void left_nothing(const std::string& undone_by) {
        if (lent_) lent_->forget(undone_by);
    }

    bool is_open() const noexcept { return connection_ != nullptr; }
    PGconn* handle() const noexcept { return connection_; }
    const std::string& place() const noexcept { return place_; }

    // handler(error_code) once something can be read, or more be sent.
    template <class Handler>
    void when_readable(Handler handler) {
        socket_.async_wait(descriptor_type::wait_read, std::move(handler));
    }
    template <class Token>
    auto wait_readable(Token& token) {
        return socket_.async_wait(descriptor_type::wait_read, token);
    }
    template <class Handler>
    void when_writable(Handler handler) {
        socket_.async_wait(descriptor_type::wait_write, std::move(handler));
    }

    void close() noexcept;

private:
    void context_ends() noexcept override { close(); }
    static async<std::vector<server_address>> resolve(std::shared_ptr<wire> self,
                                                      server_address server, instant deadline);
    static async<void> dial(std::shared_ptr<wire> self,
                            std::shared_ptr<const connection_target> target, server_address server,
                            instant deadline);
    static async<void> borrow(std::shared_ptr<wire> self, std::shared_ptr<connection_provider> from,
                              instant deadline);
    static boost::asio::awaitable<bool> wait(std::shared_ptr<wire> self,
                                             descriptor_type::wait_type what, instant deadline);
    static void take_notice(void* self, const PGresult* told);
    void drop_connection() noexcept;

    net::loop& loop_;
    descriptor_type socket_;  // libpq's, which closes it
    PGconn* connection_ = nullptr;
    std::shared_ptr<lent_connection> lent_;  // whose connection it is, if not ours
    bool closed_ = false;
    bool unreplicated_ = false;
    std::string place_;
};

}  // namespace pawl::postgresql
