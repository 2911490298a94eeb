// The floor of each engine: its bare client, which does as many round trips as an acquire and a
// release, and the least of work in them. peer_floors ENGINE PORT answers what requests.hpp says.
#include "benchmarks/peers/requests.hpp"

#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#ifdef PAWL_FLOOR_REDIS
#include "benchmarks/bare_redis.hpp"
#endif
#ifdef PAWL_FLOOR_POSTGRESQL
#include <libpq-fe.h>
#endif
#ifdef PAWL_FLOOR_MYSQL
#include <mysql.h>
#endif
#ifdef PAWL_FLOOR_ETCD
#include "engines/etcd/client/client.hpp"
#include "engines/etcd/client/etcd_settings.hpp"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#endif
#ifdef PAWL_FLOOR_ZOOKEEPER
#include <zookeeper/zookeeper.h>

#include <future>
#endif

namespace pawl::benchmarks {
namespace {

// As long as what pawl sends.
const std::string owner = "0123456789abcdef0123456789abcdef";

#ifdef PAWL_FLOOR_REDIS
// SET NX PX, and compare-and-delete.
class redis_floor : public participant {
public:
    explicit redis_floor(std::uint16_t port) : bare_{port} {}
    void pair(const std::string& key) override { bare_.unfenced_pair(key); }

private:
    bare_redis bare_;
};
#endif

#ifdef PAWL_FLOOR_POSTGRESQL
// Two prepared updates of a row, found by its key.
class postgresql_floor : public participant {
public:
    explicit postgresql_floor(std::uint16_t port)
        : session_{PQconnectdb(
              ("host=127.0.0.1 user=pawl dbname=postgres port=" + std::to_string(port)).c_str())} {
        if (PQstatus(session_) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(session_)};
        expect(PQexec(session_, "SET client_min_messages = warning"), PGRES_COMMAND_OK);
        expect(PQexec(session_,
                      "CREATE TABLE IF NOT EXISTS floor_lease (key text PRIMARY KEY, owner text, "
                      "until timestamptz)"),
               PGRES_COMMAND_OK);
        expect(PQprepare(session_, "take",
                         "UPDATE floor_lease SET owner = $2, until = clock_timestamp() + interval "
                         "'30 s' WHERE key = $1",
                         2, nullptr),
               PGRES_COMMAND_OK);
    }
    ~postgresql_floor() override { PQfinish(session_); }
    postgresql_floor(const postgresql_floor&) = delete;
    postgresql_floor& operator=(const postgresql_floor&) = delete;

    void pair(const std::string& key) override {
        if (key != known_) {
            const char* insert[] = {key.c_str()};
            expect(
                PQexecParams(session_, "INSERT INTO floor_lease VALUES ($1) ON CONFLICT DO NOTHING",
                             1, nullptr, insert, nullptr, nullptr, 0),
                PGRES_COMMAND_OK);
            known_ = key;
        }
        take(key, owner.c_str());
        take(key, "");
    }

private:
    void take(const std::string& key, const char* by) {
        const char* values[] = {key.c_str(), by};
        expect(PQexecPrepared(session_, "take", 2, values, nullptr, nullptr, 0), PGRES_COMMAND_OK);
    }
    void expect(PGresult* got, ExecStatusType status) {
        const auto was = PQresultStatus(got);
        PQclear(got);
        if (was != status) throw std::runtime_error{PQerrorMessage(session_)};
    }

    PGconn* session_;
    std::string known_;
};
#endif

#ifdef PAWL_FLOOR_MYSQL
// Two prepared updates of a row, found by its key.
class mysql_floor : public participant {
public:
    explicit mysql_floor(std::uint16_t port) : session_{mysql_init(nullptr)} {
        if (mysql_real_connect(session_, "127.0.0.1", "locker", "s3cret", "pawl", port, nullptr,
                               0) == nullptr)
            throw std::runtime_error{mysql_error(session_)};
        ask("CREATE TABLE IF NOT EXISTS floor_lease (name VARBINARY(512) PRIMARY KEY, owner "
            "VARBINARY(64), until DATETIME(6))");
        const std::string_view text{
            "UPDATE floor_lease SET owner = ?, until = NOW(6) + INTERVAL 30 SECOND WHERE name = ?"};
        update_ = mysql_stmt_init(session_);
        if (mysql_stmt_prepare(update_, text.data(), text.size()) != 0)
            throw std::runtime_error{mysql_stmt_error(update_)};
    }
    ~mysql_floor() override {
        mysql_stmt_close(update_);
        mysql_close(session_);
    }
    mysql_floor(const mysql_floor&) = delete;
    mysql_floor& operator=(const mysql_floor&) = delete;

    void pair(const std::string& key) override {
        if (key != known_) {
            ask("INSERT IGNORE INTO floor_lease (name) VALUES ('" + key + "')");
            known_ = key;
        }
        take(key, owner);
        take(key, "");
    }

private:
    void ask(const std::string& text) {
        if (mysql_real_query(session_, text.data(), text.size()) != 0)
            throw std::runtime_error{mysql_error(session_)};
    }
    void take(std::string key, std::string by) {
        MYSQL_BIND values[2] = {};
        bind(values[0], by);
        bind(values[1], key);
        if (mysql_stmt_bind_param(update_, values) != 0 || mysql_stmt_execute(update_) != 0)
            throw std::runtime_error{mysql_stmt_error(update_)};
    }
    static void bind(MYSQL_BIND& where, std::string& what) {
        where.buffer_type = MYSQL_TYPE_STRING;
        where.buffer = what.data();
        where.buffer_length = what.size();
    }

    MYSQL* session_;
    MYSQL_STMT* update_ = nullptr;
    std::string known_;
};
#endif

#ifdef PAWL_FLOOR_ETCD
// A transaction that writes a key under a lease, and one that removes it, by gRPC's blocking calls.
class etcd_floor : public participant {
public:
    explicit etcd_floor(std::uint16_t port) : channel_{open(port)} {
        etcd::wire::LeaseGrantRequest wanted;
        wanted.set_ttl(3600);
        etcd::wire::LeaseGrantResponse granted;
        call(etcd::method::lease_grant, wanted, granted);
        lease_ = granted.id();
    }

    void pair(const std::string& key) override {
        etcd::wire::TxnRequest take;
        auto& absent = *take.add_compare();
        absent.set_target(etcd::wire::Compare::CREATE);
        absent.set_key(key);
        absent.set_create_revision(0);
        auto& put = *take.add_success()->mutable_request_put();
        put.set_key(key);
        put.set_value(owner);
        put.set_lease(lease_);
        etcd::wire::TxnRequest leave;
        leave.add_success()->mutable_request_delete_range()->set_key(key);
        commit(take);
        commit(leave);
    }

private:
    static std::shared_ptr<grpc::Channel> open(std::uint16_t port) {
        etcd::etcd_settings settings;
        settings.endpoints = {{"127.0.0.1", port}};
        return *etcd::make_channel({"127.0.0.1", port}, "127.0.0.1", settings);
    }
    void commit(const etcd::wire::TxnRequest& what) {
        etcd::wire::TxnResponse done;
        call(etcd::method::txn, what, done);
        if (!done.succeeded()) throw std::runtime_error{"the bare etcd was rejected"};
    }
    void call(const char* path, const google::protobuf::MessageLite& request,
              google::protobuf::MessageLite& answer) {
        grpc::ClientContext context;
        const auto bytes = etcd::pack(request);
        grpc::ByteBuffer got;
        const grpc::internal::RpcMethod method{path, grpc::internal::RpcMethod::NORMAL_RPC};
        const auto status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
            channel_.get(), method, &context, bytes, &got);
        if (!status.ok() || !etcd::unpack(got, answer))
            throw std::runtime_error{status.error_message()};
    }

    const std::shared_ptr<grpc::Channel> channel_;
    std::int64_t lease_ = 0;
};
#endif

#ifdef PAWL_FLOOR_ZOOKEEPER
// An ephemeral znode is created and deleted, by the C client's blocking calls.
class zookeeper_floor : public participant {
public:
    explicit zookeeper_floor(std::uint16_t port) {
        const auto hosts = "127.0.0.1:" + std::to_string(port);
        handle_ = zookeeper_init2(
            hosts.c_str(),
            [](zhandle_t*, int, int state, const char*, void* me) {
                if (state == ZOO_CONNECTED_STATE)
                    static_cast<zookeeper_floor*>(me)->connected_.set_value();
            },
            30'000, nullptr, this, ZOO_NO_LOG_CLIENTENV, [](const char*) {});
        if (handle_ == nullptr) throw std::runtime_error{"the bare client cannot start"};
        zoo_set_servers_resolution_delay(handle_, -1);
        connected_.get_future().get();
    }
    ~zookeeper_floor() override { zookeeper_close(handle_); }
    zookeeper_floor(const zookeeper_floor&) = delete;
    zookeeper_floor& operator=(const zookeeper_floor&) = delete;

    void pair(const std::string& key) override {
        auto path = "/" + key;
        for (auto& letter : path)
            if (letter == '/' && &letter != path.data()) letter = '_';
        expect(zoo_create(handle_, path.c_str(), owner.data(), static_cast<int>(owner.size()),
                          &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, nullptr, 0));
        expect(zoo_delete(handle_, path.c_str(), -1));
    }

private:
    static void expect(int code) {
        if (code != ZOK) throw std::runtime_error{zerror(code)};
    }

    std::promise<void> connected_;
    zhandle_t* handle_ = nullptr;
};
#endif

std::unique_ptr<participant> floor_of(std::string_view engine, std::uint16_t port) {
#ifdef PAWL_FLOOR_REDIS
    if (engine == "redis") return std::make_unique<redis_floor>(port);
#endif
#ifdef PAWL_FLOOR_POSTGRESQL
    if (engine == "postgresql") return std::make_unique<postgresql_floor>(port);
#endif
#ifdef PAWL_FLOOR_MYSQL
    if (engine == "mysql") return std::make_unique<mysql_floor>(port);
#endif
#ifdef PAWL_FLOOR_ETCD
    if (engine == "etcd") return std::make_unique<etcd_floor>(port);
#endif
#ifdef PAWL_FLOOR_ZOOKEEPER
    if (engine == "zookeeper") return std::make_unique<zookeeper_floor>(port);
#endif
    throw std::runtime_error{"unknown engine '" + std::string{engine} + "'"};
}

}  // namespace
}  // namespace pawl::benchmarks

int main(int count, char** words) {
    using namespace pawl::benchmarks;
    if (count != 3) {
        std::cerr << "usage: peer_floors ENGINE PORT\n";
        return 64;
    }
    return serve(
        [&] { return floor_of(words[1], static_cast<std::uint16_t>(std::stoi(words[2]))); });
}
