#include "engines/postgresql/client/wire.hpp"

#include "base/duration.hpp"
#include "engines/postgresql/client/error_mapping.hpp"
#include "net/callback_timer.hpp"
#include "net/look_up.hpp"
#include "net/provider.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace pawl::postgresql {
namespace {

using boost::asio::awaitable;

// How many addresses of one name are tried at most in one attempt to connect.
constexpr std::size_t addresses_max = 8;

constexpr const char* default_port = "5432";

bool is_address(const std::string& host) {
    boost::system::error_code error;
    boost::asio::ip::make_address(host, error);
    return !error;
}

// A folder, or a name in the abstract space of sockets.
bool is_socket(const std::string& host) { return host.starts_with('/') || host.starts_with('@'); }

// A peer that vanished without a word is noticed after half a minute even when nothing is asked; a
// standby is no place for a lock.
const std::vector<keyword>& defaults() {
    static const std::vector<keyword> all{
        {"fallback_application_name", "pawl"},
        {"target_session_attrs", "primary"},
        {"keepalives_idle", "15"},
        {"keepalives_interval", "5"},
        {"keepalives_count", "3"},
    };
    return all;
}

// A service file and the environment may name it, and what is given here would come before both.
bool may_choose_gss(const connection_target& target) {
    return target.find("gssencmode") != nullptr || target.find("service") != nullptr ||
           std::getenv("PGGSSENCMODE") != nullptr || std::getenv("PGSERVICE") != nullptr;
}

// The keywords of one attempt, as libpq wants to see them.
class keyword_list {
public:
    keyword_list(const connection_target& target, const server_address& server) {
        for (const auto& one : defaults())
            if (target.find(one.name) == nullptr) add(one.name.c_str(), one.value);
        // Where there is a ticket libpq would ask the servers of Kerberos, on the loop's thread and
        // without a bound, before it asks for TLS.
        if (!may_choose_gss(target)) add("gssencmode", "disable");
        for (const auto& one : target.keywords) add(one.name.c_str(), one.value);
        if (!server.host.empty()) add("host", server.host);
        if (!server.address.empty()) add("hostaddr", server.address);
        if (!server.port.empty()) add("port", server.port);
        names_.push_back(nullptr);
        values_.push_back(nullptr);
    }

    PGconn* start() const { return PQconnectStartParams(names_.data(), values_.data(), 0); }

private:
    void add(const char* name, const std::string& value) { add(name, value.c_str()); }
    void add(const char* name, const char* value) {
        names_.push_back(name);
        values_.push_back(value);
    }

    std::vector<const char*> names_, values_;
};

failure no_answer(const std::string& place) {
    return {errc::unreachable, place + ": no connection within the timeout"};
}

// The instant by which the first of `among` that are left must have answered.
instant share_of(instant deadline, std::size_t among) {
    const auto now = lease_clock::now();
    return now + (deadline - now) / static_cast<int>(among);
}

}  // namespace

const std::string* connection_target::find(const std::string& name) const {
    const auto found = std::find_if(keywords.begin(), keywords.end(),
                                    [&](const keyword& one) { return one.name == name; });
    return found == keywords.end() ? nullptr : &found->value;
}

std::string place_of(const server_address& server) {
    const auto& host = server.host.empty() ? server.address : server.host;
    const auto port = ":" + (server.port.empty() ? default_port : server.port);
    if (host.empty()) return "postgresql";
    return (host.find(':') != std::string::npos ? "[" + host + "]" : host) + port;
}

std::string place_of(const PGconn* connection) {
    const auto said = [](const char* what) { return std::string{what == nullptr ? "" : what}; };
    return place_of(server_address{said(PQhost(connection)), "", said(PQport(connection))});
}

std::string place_of(const connection_target& target) {
    std::string places;
    for (const auto& one : target.servers) places += (places.empty() ? "" : ",") + place_of(one);
    return places.empty() ? "postgresql" : places;
}

// ---- Connecting

// The addresses of one server. libpq would look up its name itself, but the whole loop would wait.
async<std::vector<server_address>> wire::resolve(std::shared_ptr<wire> self, server_address server,
                                                 instant deadline) {
    std::vector<server_address> found;
    if (server.host.empty() || !server.address.empty() || is_address(server.host) ||
        is_socket(server.host)) {
        found.push_back(std::move(server));
        co_return found;
    }
    auto looking = net::look_up(self->loop_.get_executor(), server.host, deadline);
    const auto addresses = co_await std::move(looking);
    if (addresses.has_error())
        co_return failure{
            addresses.error().code,
            place_of(server) + ": cannot resolve the host name: " + addresses.error().detail};
    for (const auto& address : *addresses) {
        if (found.size() == addresses_max) break;
        found.push_back({server.host, address.to_string(), server.port});
    }
    co_return found;
}

async<void> wire::connect(std::shared_ptr<wire> self,
                          std::shared_ptr<const connection_target> target, instant deadline) {
    self->place_ = place_of(*target);
    if (target->lent_by) {
        auto borrowing = borrow(self, target->lent_by, deadline);
        co_return co_await std::move(borrowing);
    }
    // None: libpq finds one by itself, in a service file or in the environment.
    const auto servers = target->servers.empty() ? std::vector<server_address>(1) : target->servers;
    result<void> last = no_answer(self->place_);
    for (std::size_t i = 0; i < servers.size() && !self->closed_; ++i) {
        // One that is silent must not use up the time of those behind it.
        const auto share = share_of(deadline, servers.size() - i);
        auto resolving = resolve(self, servers[i], share);
        const auto addresses = co_await std::move(resolving);
        if (addresses.has_error()) {
            last = addresses.error();
            continue;
        }
        for (std::size_t j = 0; j < addresses->size() && !self->closed_; ++j) {
            const auto until = share_of(share, addresses->size() - j);
            auto dialling = dial(self, target, (*addresses)[j], until);
            last = co_await std::move(dialling);
            if (last.has_value() || !may_pass(last.error().code)) break;
        }
        if (last.has_value() || !may_pass(last.error().code)) break;
    }
    if (self->closed_) co_return no_answer(self->place_);
    co_return last;
}

async<void> wire::dial(std::shared_ptr<wire> self, std::shared_ptr<const connection_target> target,
                       server_address server, instant deadline) {
    self->drop_connection();
    const auto place =
        server.host.empty() && server.address.empty() ? self->place_ : place_of(server);
    // The certificate may name another than the host: then libpq is told the name as the host, and
    // the host as its address.
    if (!target->server_name.empty() && !is_socket(server.host)) {
        if (server.address.empty()) server.address = server.host;
        server.host = target->server_name;
    }
    const keyword_list keywords{*target, server};
    self->connection_ = keywords.start();
    if (self->connection_ == nullptr) co_return failure{errc::unreachable, place + ": no memory"};
    PQsetNoticeReceiver(self->connection_, &wire::take_notice, self.get());
    // With the SQLSTATE in it, the message needs no guessing.
    PQsetErrorVerbosity(self->connection_, PQERRORS_VERBOSE);
    auto next = PGRES_POLLING_WRITING;
    while (PQstatus(self->connection_) != CONNECTION_BAD && next != PGRES_POLLING_OK &&
           next != PGRES_POLLING_FAILED) {
        const auto what = next == PGRES_POLLING_READING ? descriptor_type::wait_read
                                                        : descriptor_type::wait_write;
        const bool in_time = co_await wait(self, what, deadline);
        if (self->closed_ || !in_time) co_return no_answer(place);
        next = PQconnectPoll(self->connection_);
    }
    if (next != PGRES_POLLING_OK) {
        auto why = explain_connection(place, PQerrorMessage(self->connection_));
        self->drop_connection();
        co_return why;
    }
    PQsetnonblocking(self->connection_, 1);
    PQsetErrorVerbosity(self->connection_, PQERRORS_DEFAULT);
    boost::system::error_code error;
    self->socket_.assign(PQsocket(self->connection_), error);
    if (error) co_return failure{errc::unreachable, place + ": " + error.message()};
    self->place_ = place;
    co_return result<void>{};
}

async<void> wire::borrow(std::shared_ptr<wire> self, std::shared_ptr<connection_provider> from,
                         instant deadline) {
    auto asking = connection_provider::ask(from, deadline, self->place_);
    auto given = co_await std::move(asking);
    if (given.has_error()) co_return given.error();
    self->lent_ = std::make_shared<lent_connection>(*std::move(given));
    auto* connection = self->lent_->get();
    self->place_ = place_of(connection);
    auto unfit = reject(connection, self->place_);
    if (self->closed_) unfit = no_answer(self->place_);
    if (unfit) {
        self->drop_connection();
        co_return std::move(*unfit);
    }
    self->lent_->take();
    self->connection_ = connection;
    boost::system::error_code error;
    self->socket_.assign(PQsocket(connection), error);
    if (error) co_return failure{errc::unreachable, self->place_ + ": " + error.message()};
    auto looking = query(self, std::string{state_question});
    const auto state = co_await std::move(looking);
    if (state.has_error()) co_return state.error();
    if (!state->sqlstate.empty())
        co_return explain_error(self->place_, state->sqlstate, state->message);
    unfit = reject(*state, self->place_);
    if (unfit) co_return std::move(*unfit);
    co_return result<void>{};
}

// While it connects, libpq may change its socket at each step, so that the socket is lent for one
// wait only. False when the time was up.
awaitable<bool> wire::wait(std::shared_ptr<wire> self, descriptor_type::wait_type what,
                           instant deadline) {
    const int socket = PQsocket(self->connection_);
    if (socket < 0) co_return true;
    boost::system::error_code error;
    self->socket_.assign(socket, error);
    if (error) co_return false;
    net::callback_timer expiry{self->loop_.get_executor()};
    struct outcome {
        bool late = false;
        bool over = false;
    };
    auto ended = std::make_shared<outcome>();
    expiry.call_at(deadline, [self, ended] {
        if (ended->over) return;
        ended->late = true;
        boost::system::error_code ignored;
        self->socket_.cancel(ignored);
    });
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await self->socket_.async_wait(what, token);
    ended->over = true;
    if (self->socket_.is_open()) self->socket_.release();
    co_return !ended->late;
}

bool wire::start_pipeline() {
    unreplicated_ = false;
    return PQenterPipelineMode(connection_) == 1;
}

// The words depend on the server's language, and the SQLSTATE is that of any warning; where it was
// raised is always the same.
void wire::take_notice(void* self, const PGresult* told) {
    const auto is = [&](int field, std::string_view text) {
        const auto* said = PQresultErrorField(told, field);
        return said != nullptr && said == text;
    };
    if (is(PG_DIAG_SOURCE_FUNCTION, "SyncRepWaitForLSN") &&
        is(PG_DIAG_SEVERITY_NONLOCALIZED, "WARNING"))
        static_cast<wire*>(self)->unreplicated_ = true;
}

// ---- Asking before the pipeline

async<reply> wire::query(std::shared_ptr<wire> self, std::string sql) {
    const auto gone = [&self] {
        return failure{errc::unreachable, self->place_ + ": the connection was closed"};
    };
    if (!self->is_open() || PQsendQuery(self->connection_, sql.c_str()) != 1) co_return gone();
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    while (PQflush(self->connection_) == 1) {
        co_await self->socket_.async_wait(descriptor_type::wait_write, token);
        if (error || !self->is_open()) co_return gone();
        if (PQconsumeInput(self->connection_) != 1) co_return gone();
    }
    reply last;
    for (;;) {
        while (PQisBusy(self->connection_) != 0) {
            co_await self->socket_.async_wait(descriptor_type::wait_read, token);
            if (error || !self->is_open()) co_return gone();
            if (PQconsumeInput(self->connection_) != 1)
                co_return explain_connection(self->place_, PQerrorMessage(self->connection_));
        }
        auto* got = PQgetResult(self->connection_);
        if (got == nullptr) break;
        rows one{got};
        const auto status = PQresultStatus(got);
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
            last.got = std::move(one);
            continue;
        }
        const auto* state = PQresultErrorField(got, PG_DIAG_SQLSTATE);
        const auto* words = PQresultErrorField(got, PG_DIAG_MESSAGE_PRIMARY);
        last.sqlstate = state == nullptr ? "08006" : state;
        last.message = words == nullptr ? PQresultErrorMessage(got) : words;
    }
    co_return last;
}

// ---- Ending

void wire::drop_connection() noexcept {
    if (socket_.is_open()) socket_.release();
    auto* connection = std::exchange(connection_, nullptr);
    if (!lent_) {
        if (connection != nullptr) PQfinish(connection);
        return;
    }
    // To put it in order takes an answer of the server.
    try {
        loop_.hand_to_pool([lent = std::move(lent_)] {});
    } catch (...) {
        // Without a thread for it, it went here.
    }
}

void wire::close() noexcept {
    closed_ = true;
    drop_connection();
}

}  // namespace pawl::postgresql
