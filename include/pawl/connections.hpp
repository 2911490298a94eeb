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

// Of libpq and of libmariadb, whose headers are not needed here.
struct pg_conn;
struct st_mysql;
// Of libgrpc++, as well.
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
// The numbers below are of connections in use: a new one may be asked for while one that has died
// is on its way back.
//
// pawl alone uses a connection until it lets go of the pointer, which happens on a thread of pawl's
// that may block, or in the destructor of `locks`. Wait until the pointer is released before you
// close it. All are released by then but those of requests that the destructor gave up. With
// open_options::executor neither the destructor nor async_close() waits for that: the functions may
// be called, and the pointers released, until run() of the context has returned, or the context is
// gone. So let both own what they use. In the child of a fork() nothing is called and nothing is
// released.
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

    // A MYSQL of libmariadb, logged in at a primary, idle, in no transaction, with a database and
    // without CLIENT_FOUND_ROWS; else it is rejected and released as it was. At most the parameter
    // `connections` of the URL, one more for renewals, and `connections` again for a journal in
    // the same store.
    //
    // When it is released, either it is of no more use, which mysql_ping() says, or it is idle,
    // with the settings of its session and its options as they were, and without prepared
    // statements and transactions of pawl's. MYSQL_OPT_NONBLOCK stays set, and `timestamp` is
    // DEFAULT.
    std::function<std::shared_ptr<st_mysql>()> mysql{};

    // The descriptor of a stream socket that is connected to one Redis or Valkey that takes writes:
    // logged in, with no reply outstanding, no subscription and no MULTI; with hiredis, what
    // redisFreeKeepFd() returns. -1: there is none. One for requests, one more for waiters, and one
    // for a journal in the same store.
    //
    // It is pawl's from then on, and never comes back: pawl selects the database that the URL
    // names (`redis:/2`; else 0) and RESP 2, and closes it. Not for `redis+sentinel:`,
    // `redis+cluster:` and `redlock:`, which find their servers themselves. What does not go as
    // plain bytes, such as TLS, is done by what listens at the other end, such as a tunnel.
    std::function<int()> redis{};

    // A channel of libgrpc++ to an etcd cluster, shared with the application: it may be the same
    // each time, and the application may use it meanwhile. pawl asks for it with the first request
    // and again after each failure, so a channel that is beyond repair is replaced by giving
    // another. It must not repeat calls by a retry policy, and should take answers of 16 MiB.
    //
    // The channel finds the nodes and does TLS, in its way. pawl logs in if the URL has a user
    // (`etcd:?user=NAME&password_file=PATH`). The wall clock of this machine stands in for that of
    // a node, which a channel does not show; so a quarantine is rejected with option_error.
    std::function<std::shared_ptr<grpc::Channel>()> etcd{};
};

}  // namespace pawl
