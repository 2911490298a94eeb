#include "engines/postgresql/client/lent_connection.hpp"

#include "engines/postgresql/client/error_mapping.hpp"
#include "engines/postgresql/client/wire.hpp"

#include <pawl/clock.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <chrono>

namespace pawl::postgresql {
namespace {

// How long a server may take to undo what is left in its session.
constexpr millis undoing_bound{1000};
// Reads until libpq has seen the end of a connection that was shut down.
constexpr int reads_max = 1024;
constexpr int oldest_protocol = 3;

bool wait(const PGconn* on, short event, instant until) {
    const auto left = std::chrono::ceil<millis>(until - lease_clock::now());
    pollfd one{PQsocket(on), event, 0};
    return left.count() > 0 && ::poll(&one, 1, static_cast<int>(left.count())) == 1;
}

// True when the server has done it, and nothing is left to be read. REQUIRES: it does not block.
bool perform(PGconn* on, const std::string& sql, instant until) {
    if (PQsendQuery(on, sql.c_str()) != 1) return false;
    for (int unsent = PQflush(on); unsent != 0; unsent = PQflush(on))
        if (unsent < 0 || !wait(on, POLLOUT, until)) return false;
    bool done = true;
    for (;;) {
        while (PQisBusy(on) != 0)
            if (!wait(on, POLLIN, until) || PQconsumeInput(on) != 1) return false;
        const rows got{PQgetResult(on)};
        if (got.handle() == nullptr) return done;
        done = done && PQresultStatus(got.handle()) == PGRES_COMMAND_OK;
    }
}

// What was told to us on a channel is none of the application's.
void drop_notifications(PGconn* on) {
    while (auto* note = PQnotifies(on)) PQfreemem(note);
}

bool is_idle(const PGconn* one) {
    return PQstatus(one) == CONNECTION_OK && PQtransactionStatus(one) == PQTRANS_IDLE;
}

}  // namespace

const std::string_view state_question{
    "SELECT pg_is_in_recovery()::integer, (SELECT count(*) FROM pg_listening_channels())"};

std::optional<failure> reject(const PGconn* given, const std::string& place) {
    const auto rejected = [&](const char* why) {
        return failure{errc::rejected, place + ": the application's connection " + why};
    };
    if (PQstatus(given) != CONNECTION_OK)
        return failure{errc::unreachable, place + ": the application's connection is not open"};
    if (PQprotocolVersion(given) < oldest_protocol)
        return failure{errc::unsupported,
                       place + ": the application's connection speaks a protocol before 3.0"};
    if (PQpipelineStatus(given) != PQ_PIPELINE_OFF) return rejected("is in pipeline mode");
    if (PQtransactionStatus(given) == PQTRANS_ACTIVE) return rejected("has a command under way");
    if (PQtransactionStatus(given) != PQTRANS_IDLE)
        return rejected("is in a transaction: commit or roll back before it is given");
    return std::nullopt;
}

std::optional<failure> reject(const reply& state, const std::string& place) {
    if (state.got.count() != 1 || state.got.columns() != 2)
        return failure{errc::protocol, place + ": an empty answer"};
    if (state.got.bytes(0, 0) != "0")
        return explain_connection(place, "server is in hot standby mode");
    if (state.got.bytes(0, 1) != "0")
        return failure{errc::rejected,
                       place +
                           ": the application's connection listens to channels: UNLISTEN * "
                           "before it is given"};
    return std::nullopt;
}

void lent_connection::take() {
    taken_ = true;
    blocked_ = PQisnonblocking(connection_.get()) == 0;
    PQsetnonblocking(connection_.get(), 1);
}

lent_connection::~lent_connection() {
    if (taken_ && !put_in_order()) spoil();
}

// True when nothing of ours is left in it.
bool lent_connection::put_in_order() const {
    auto* one = connection_.get();
    // Rejected while something is under way.
    if (PQpipelineStatus(one) != PQ_PIPELINE_OFF && PQexitPipelineMode(one) != 1) return false;
    if (!is_idle(one)) return false;
    std::string undoing;
    for (const auto& each : left_) undoing.append(each).append(";");
    if (!undoing.empty() && !perform(one, undoing, lease_clock::now() + undoing_bound))
        return false;
    drop_notifications(one);
    if (!is_idle(one)) return false;
    return !blocked_ || PQsetnonblocking(one, 0) == 0;
}

// An end of the connection that libpq has seen, so that PQstatus() says it.
void lent_connection::spoil() const {
    auto* one = connection_.get();
    if (const int socket = PQsocket(one); socket >= 0) ::shutdown(socket, SHUT_RDWR);
    for (int i = 0; PQstatus(one) != CONNECTION_BAD && i < reads_max; ++i) PQconsumeInput(one);
}

}  // namespace pawl::postgresql
