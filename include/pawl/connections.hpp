// Connections that the application makes: from its pool, over a tunnel of its own, with a login
// that pawl does not know. pawl works over them in place of those that it would make itself.
//
//     auto locks = pawl::locks::open("postgresql:?schema=jobs", {.connections = {.postgresql = [&]
//     {
//         return std::shared_ptr<PGconn>{take_from_pool(), give_back_to_pool};
//     }}});
#pragma once

#include <functional>
#include <memory>

// Of libpq, of MariaDB's Connector/C and of gRPC, whose headers are not needed here.
struct pg_conn;
struct st_mysql;
namespace grpc {
class Channel;
}

namespace pawl {

// One function for each engine that can work so; an empty one means that pawl connects itself.
//
// A function is called whenever pawl needs one more connection: with the first request, when more
// requests wait than one connection carries, for waiters that are to be woken, and when a
// connection has died, with the same pauses as between pawl's own attempts. It runs on a thread of
// pawl's, and two calls at once are possible. It may block. What it gives after the `timeout` of
// the store's URL is released unused, so let it give up before that. The end of `locks` waits for
// its return. It must not call the same `locks`.
//
// A null answer, and what it throws, is the failure `unreachable`, with what() in its detail.
//
// pawl alone uses a connection until it lets go of the pointer, which happens on a thread of pawl's
// that may block, or in the destructor of `locks`. Wait until the pointer is released before you
// close it. All are released by then but those of requests that the destructor gave up. In the
// child of a fork() nothing is called and nothing is released.
//
// What the URL says about how to connect (hosts, user, password, TLS) is rejected with
// option_error, as it could not hold. So is a function for an engine that neither the store nor the
// journal has.
struct connection_factories {
    // A PGconn of libpq, logged in at a primary, idle, in no transaction, not in pipeline mode, and
    // listening to nothing; else it is rejected and released untouched. At most the parameter
    // `connections` of the URL, one more for renewals, one more for waiters, and `connections`
    // again for a journal in the same store.
    //
    // When it is released, either PQstatus() is CONNECTION_BAD, or it is idle, out of pipeline
    // mode, as blocking as it was, and without prepared statements, transactions and LISTENs of
    // pawl's. Its notice processor is called on pawl's threads.
    std::function<std::shared_ptr<pg_conn>()> postgresql{};

    // A MYSQL of MariaDB's Connector/C, of the same shared library as pawl's, logged in, with a
    // database selected, in no transaction and without a result that has not been read; else it is
    // rejected and released. At most the parameter `connections` of the URL for the store, and as
    // many for a journal in the same store.
    //
    // pawl sets the session's variables as it needs them, and leaves them so. When it is released,
    // either its socket has been shut down, so that the next call fails, or it is in no transaction
    // and without results and statements of pawl's: mysql_reset_connection() makes it as new.
    std::function<std::shared_ptr<st_mysql>()> mysql{};

    // A channel to a cluster, with its credentials. One at a time; requests are sent side by side
    // over it, and others may use it too.
    std::function<std::shared_ptr<grpc::Channel>()> etcd{};

    // The descriptor of a connected stream socket, at which a Redis answers that has been asked
    // nothing yet, or that is between two requests: logged in or without logins, in no transaction
    // and without subscriptions. pawl owns it from the return on, and closes it. A negative number
    // means none. At most one, and one more for waiters; the same again for a journal.
    std::function<int()> redis{};
};

}  // namespace pawl
