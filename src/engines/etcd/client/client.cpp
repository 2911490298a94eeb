#include "engines/etcd/client/client.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "net/fork_check.hpp"
#include "net/provider.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <google/protobuf/message_lite.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

namespace pawl::etcd {
namespace {

// Clocks of machines drift apart by less than two seconds in that time.
constexpr millis clock_kept_max = std::chrono::hours{1};
constexpr millis clock_retry_after = std::chrono::seconds{10};
// The largest answer: a full page of records with their locks and what is done.
constexpr int answer_max = 16 * 1024 * 1024;
// etcd rejects clients that ping more often than every 5 s.
constexpr int ping_every_ms = 10'000;
// How long after its deadline gRPC may tell of it.
constexpr millis late_answer_max{1'000};

// gRPC writes to standard error what a caller is told in one line of ours. A user who wants its
// words sets GRPC_VERBOSITY.
void silence_grpc() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (std::getenv("GRPC_VERBOSITY") == nullptr)
            gpr_set_log_function([](gpr_log_func_args*) {});
    });
}

// gRPC's threads end with the last channel, and abort when it is one of them that lets go of it. So
// there is one that never goes; it never connects either.
void keep_grpc_threads() {
    static std::once_flag once;
    std::call_once(once, [] {
        static const auto* const kept = new std::shared_ptr<grpc::Channel>{
            grpc::CreateChannel("ipv4:127.0.0.1:0", grpc::InsecureChannelCredentials())};
        struct first_call {
            grpc::ClientContext context;
            grpc::Slice nothing;
            grpc::ByteBuffer request{&nothing, 1}, response;
        };
        const auto first = std::make_shared<first_call>();
        first->context.set_deadline(std::chrono::system_clock::now());
        grpc::GenericStub stub{*kept};
        stub.UnaryCall(&first->context, "/pawl/none", {}, &first->request, &first->response,
                       [first](const grpc::Status&) {});
    });
}

// Before gRPC is used. In the child of a fork() it takes its parent's threads for its own, and no
// call would end there, nor its deadline.
std::optional<failure> begin_grpc() {
    static const net::fork_check first_use;
    if (first_use.is_forked_child())
        return failure{errc::unsupported,
                       "gRPC was in use when this process was forked, and its threads do not pass "
                       "to a child: open an etcd store after fork() only"};
    keep_grpc_threads();
    return std::nullopt;
}

result<std::string> read_file(const std::string& path, const std::string& what) {
    if (path.empty()) return std::string{};
    std::ifstream file{path, std::ios::binary};
    if (!file)
        return failure{errc::denied,
                       "the TLS " + what + " " + path + " cannot be used: " + std::strerror(errno)};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
}

result<std::shared_ptr<grpc::ChannelCredentials>> make_credentials(
    const std::optional<net::tls_settings>& tls) {
    if (!tls) return grpc::InsecureChannelCredentials();
    grpc::SslCredentialsOptions options;
    const auto ca = read_file(tls->ca, "authorities (ca)");
    if (ca.has_error()) return ca.error();
    const auto certificate = read_file(tls->certificate, "certificate (cert)");
    if (certificate.has_error()) return certificate.error();
    const auto key = read_file(tls->key, "key");
    if (key.has_error()) return key.error();
    options.pem_root_certs = *ca;
    options.pem_cert_chain = *certificate;
    options.pem_private_key = *key;
    return grpc::SslCredentials(options);
}

// By address: gRPC's own resolver asks servers that need not exist for names in /etc/hosts.
std::string target_of(const base::endpoint& where, const std::string& address) {
    const bool is_ipv6 = address.find(':') != std::string::npos;
    return (is_ipv6 ? "ipv6:" : "ipv4:") + place_of({address, where.port});
}

std::chrono::system_clock::time_point as_grpc_deadline(instant deadline) {
    const auto left = std::max(deadline - lease_clock::now(), instant::duration{0});
    return std::chrono::system_clock::now() +
           std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
}

}  // namespace

std::string place_of(const base::endpoint& where) {
    const bool is_ipv6 = where.host.find(':') != std::string::npos;
    const auto port = std::to_string(where.port == 0 ? default_port : where.port);
    return (is_ipv6 ? "[" + where.host + "]" : where.host) + ":" + port;
}

grpc::ByteBuffer pack(const google::protobuf::MessageLite& message) {
    const auto size = message.ByteSizeLong();
    grpc::Slice slice{size};
    message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
    return grpc::ByteBuffer{&slice, 1};
}

bool unpack(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message) {
    grpc::Slice whole;
    if (!bytes.TrySingleSlice(&whole).ok() && !bytes.DumpToSingleSlice(&whole).ok()) return false;
    return message.ParseFromArray(whole.begin(), static_cast<int>(whole.size()));
}

result<std::shared_ptr<grpc::Channel>> make_channel(const base::endpoint& where,
                                                    const std::string& address,
                                                    const etcd_settings& settings) {
    silence_grpc();
    if (auto bad = begin_grpc()) return std::move(*bad);
    const auto credentials = make_credentials(settings.tls);
    if (credentials.has_error()) return credentials.error();
    grpc::ChannelArguments options;
    options.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   static_cast<int>(net::backoff::first.count()));
    options.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(settings.common.timeout.count()));
    options.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   static_cast<int>(net::backoff::longest.count()));
    options.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ping_every_ms);
    options.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   static_cast<int>(settings.common.timeout.count()));
    // A request is sent once: whether to send it again is decided here.
    options.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    options.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    options.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    options.SetMaxReceiveMessageSize(answer_max);
    options.SetServiceConfigJSON("{}");
    options.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    if (settings.tls)
        options.SetSslTargetNameOverride(
            settings.tls->server_name.empty() ? where.host : settings.tls->server_name);
    return grpc::CreateCustomChannel(target_of(where, address), *credentials, options);
}

// ---- One request

// Shared by the coroutine that asks and the thread of gRPC that answers; whichever is last frees
// it.
struct client::exchanged {
    std::shared_ptr<grpc::Channel> channel;
    grpc::ClientContext context;
    grpc::ByteBuffer request, response;
    grpc::Status status;
};

// A request that is under way. In the frame of its coroutine, so that it ends with the loop.
class client::pending {
public:
    pending(client& on, std::shared_ptr<exchanged> what)
        : on_{on}, what_{std::move(what)}, id_{++on.last_call_} {
        on_.calls_.emplace(id_, &ended_);
    }
    ~pending() {
        on_.calls_.erase(id_);
        if (!ended_.is_set()) what_->context.TryCancel();
    }
    pending(const pending&) = delete;
    pending& operator=(const pending&) = delete;

    std::uint64_t id() const noexcept { return id_; }
    net::event& ended() noexcept { return ended_; }

private:
    client& on_;
    const std::shared_ptr<exchanged> what_;
    const std::uint64_t id_;
    net::event ended_;
};

std::shared_ptr<client> client::make(net::loop& where,
                                     std::shared_ptr<const etcd_settings> settings) {
    auto made = std::make_shared<client>(where, std::move(settings));
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

client::client(net::loop& where, std::shared_ptr<const etcd_settings> settings)
    : loop_{where},
      settings_{std::move(settings)},
      executor_{where.get_executor()},
      retries_{base::fresh_seed()} {
    base::ensure(is_lent() || !settings_->endpoints.empty());
    if (is_lent()) nodes_.push_back({{}, "etcd", {}, nullptr});
    for (const auto& each : settings_->endpoints)
        nodes_.push_back({each, place_of(each), {}, nullptr});
}

void client::dress(grpc::ClientContext& context, bool needs_leader) const {
    if (!token_.empty()) context.AddMetadata("token", token_);
    // A node that has lost its leader says so at once, instead of at its own timeout.
    if (needs_leader) context.AddMetadata("hasleader", "true");
}

// Where a caller blocks and nothing else is under way, the call is made on its own thread.
boost::asio::awaitable<grpc::Status> client::call(std::shared_ptr<exchanged> what, const char* path,
                                                  instant deadline) {
    // Another request has left the node since.
    if (!what->channel) co_return grpc::Status{grpc::StatusCode::UNAVAILABLE, "not connected yet"};
    what->context.set_deadline(as_grpc_deadline(deadline));
    if (calls_.empty() && loop_.is_visited()) {
        auto job = [what, path] {
            const grpc::internal::RpcMethod called{path, grpc::internal::RpcMethod::NORMAL_RPC};
            return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
                what->channel.get(), called, &what->context, what->request, &what->response);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }
    pending mine{*this, what};
    grpc::GenericStub stub{what->channel};
    auto answered = [what, handle = attachment_, self = weak_from_this(),
                     id = mine.id()](grpc::Status status) {
        what->status = std::move(status);
        handle->post([self, id] {
            const auto alive = self.lock();
            if (!alive) return;
            const auto found = alive->calls_.find(id);
            if (found != alive->calls_.end()) found->second->set();
        });
    };
    stub.UnaryCall(&what->context, path, {}, &what->request, &what->response, std::move(answered));
    auto waiting = mine.ended().wait_until(deadline + late_answer_max);
    if (co_await std::move(waiting)) co_return what->status;
    if (lease_clock::now() >= deadline + late_answer_max)
        co_return grpc::Status{grpc::StatusCode::DEADLINE_EXCEEDED, "gRPC did not answer"};
    co_return grpc::Status{grpc::StatusCode::CANCELLED, "cancelled by the caller"};
}

async<grpc::ByteBuffer> client::exchange_once(const char* path, grpc::ByteBuffer request,
                                              effect what, request_limits limits, remedy& cure,
                                              std::string& used) {
    const auto self = shared_from_this();
    cure = remedy::tell;
    if (!connected_) {
        const auto stands = co_await ready(limits);
        if (stands.has_error()) co_return stands.error();
    }
    auto one = std::make_shared<exchanged>();
    one->channel = channel();
    one->request.Swap(&request);  // it has no move
    // An alarm is told by any node, and asked for when something is wrong.
    dress(one->context, std::string_view{path} != method::alarm);
    const auto asked = current_;
    const auto dressed_with = token_;
    const auto status = co_await call(one, path, limits.deadline);
    if (status.ok()) co_return std::move(one->response);
    const auto waited = base::format_duration(settings_->common.timeout);
    auto rejected = explain_rejection(nodes_[asked].place, status, what, waited);
    // The cluster has begun to ask for a login.
    if (is_login_missing(rejected.why) && !settings_->user.empty())
        rejected = {{errc::unreachable, rejected.why.detail}, remedy::log_in};
    cure = rejected.what;
    if (cure == remedy::log_in) used = dressed_with;
    const bool gave_up = status.error_message() == "cancelled by the caller";
    if (!gave_up && (cure == remedy::other_node || cure == remedy::ask_again) && asked == current_)
        leave_node();
    co_return std::move(rejected.why);
}

async<grpc::ByteBuffer> client::exchange(const char* path, grpc::ByteBuffer request, effect what,
                                         request_limits limits) {
    const auto self = shared_from_this();
    bool logged_in_again = false;
    for (;;) {
        remedy cure = remedy::tell;
        std::string used;
        auto got = co_await exchange_once(path, request, what, limits, cure, used);
        if (got.has_value()) co_return got;
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return got;
        if (cure == remedy::log_in && !std::exchange(logged_in_again, true)) {
            auto logging_in = log_in_again(std::move(used), limits.deadline);
            const auto renewed = co_await std::move(logging_in);
            if (renewed.has_error()) co_return renewed.error();
            continue;
        }
        if (cure != remedy::ask_again ||
            lease_clock::now() + net::backoff::first >= limits.deadline)
            co_return got;
        auto pause = net::sleep_for(net::backoff::first);
        co_await std::move(pause);
    }
}

async<wire::StatusResponse> client::ask_status(std::size_t index, instant deadline) {
    const auto self = shared_from_this();
    if (!nodes_[index].channel) {
        const auto reached = co_await reach(index, deadline);
        if (reached.has_error()) co_return reached.error();
    }
    const auto& asked = nodes_[index];
    auto one = std::make_shared<exchanged>();
    one->channel = asked.channel;
    const wire::StatusRequest request;
    one->request = pack(request);
    dress(one->context, false);
    const auto status = co_await call(one, method::status, deadline);
    if (!status.ok()) {
        const auto waited = base::format_duration(settings_->common.timeout);
        co_return explain_rejection(asked.place, status, effect::none, waited).why;
    }
    wire::StatusResponse answer;
    if (!unpack(one->response, answer))
        co_return unreadable_answer(asked.place, method::status, effect::none);
    co_return answer;
}

failure client::note_stream_end(const grpc::Status& status, effect what) {
    const auto waited = base::format_duration(settings_->common.timeout);
    auto rejected = explain_rejection(nodes_[current_].place, status, what, waited);
    if (rejected.what == remedy::log_in) connected_ = false;
    return std::move(rejected.why);
}

// ---- Connecting

// The next one is tried first.
void client::leave_node() {
    connected_ = false;
    current_ = (current_ + 1) % nodes_.size();
}

async<void> client::ready(request_limits limits) {
    const auto self = shared_from_this();
    while (!connected_) {
        if (closed_.is_set())
            co_return failure{errc::unreachable, nodes_[current_].place + ": the store is closed"};
        // A wrong password does not become right within the back-off.
        if (!connecting_ && last_failure_ && !may_pass(last_failure_->code) &&
            lease_clock::now() < not_before_)
            co_return *last_failure_;
        // The last attempt to connect has failed, and the next one has not begun.
        const bool is_impatient = limits.unconnected == store_down::fail;
        if (is_impatient && last_failure_ && lease_clock::now() < not_before_)
            co_return failure{errc::unreachable, last_failure_->detail};
        net::event mine;
        struct queue_waiter {
            std::map<net::event*, store_down>& all;
            net::event* who;
            ~queue_waiter() { all.erase(who); }
        };
        waiting_.emplace(&mine, limits.unconnected);
        const queue_waiter until_the_end{waiting_, &mine};
        if (!connecting_) {
            connecting_ = true;
            boost::asio::co_spawn(executor_, connect(self), boost::asio::detached);
        }
        auto waiting = mine.wait_until(limits.deadline);
        co_await std::move(waiting);
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none)
            co_return failure{errc::unreachable,
                              nodes_[current_].place + ": cancelled by the caller"};
        if (connected_) break;
        if (mine.is_set() && last_failure_ && !may_pass(last_failure_->code))
            co_return *last_failure_;
        const bool told = is_impatient && mine.is_set() && last_failure_;
        if (!told && lease_clock::now() < limits.deadline) continue;
        const auto waited = base::format_duration(settings_->common.timeout);
        auto why = last_failure_.value_or(
            failure{errc::unreachable, nodes_[current_].place + ": no answer within " + waited});
        why.code = errc::unreachable;
        co_return why;
    }
    co_return result<void>{};
}

// Those that wait at most so: all of them with store_down::retry.
void client::wake(store_down which) {
    for (const auto& [each, unconnected] : waiting_)
        if (which == store_down::retry || unconnected == which) each->set();
}

// Goes on while a caller waits for it.
boost::asio::awaitable<void> client::connect(std::shared_ptr<client> self) {
    struct under_way {
        client& who;
        ~under_way() { who.connecting_ = false; }
    };
    const under_way until_the_end{*self};
    while (!self->closed_.is_set() && !self->waiting_.empty()) {
        if (lease_clock::now() < self->not_before_) {
            auto pausing = self->closed_.wait_until(self->not_before_);
            co_await std::move(pausing);
            continue;
        }
        const auto stands = co_await self->dial_any();
        self->settle(stands.has_error() ? std::optional{stands.error()} : std::nullopt);
        if (stands.has_value() || !may_pass(stands.error().code)) break;
        self->wake(store_down::fail);
    }
    self->connecting_ = false;
    self->wake(store_down::retry);
}

void client::settle(std::optional<failure> why) {
    last_failure_ = std::move(why);
    if (!last_failure_) {
        connected_ = true;
        retries_.succeeded();
        not_before_ = instant{};
        return;
    }
    not_before_ = lease_clock::now() + retries_.failed();
}

// Each node in turn, beginning with the present one. What is wrong with the first is told, unless
// another says something that does not pass by itself.
async<void> client::dial_any() {
    std::optional<failure> first;
    const auto share = settings_->common.timeout / static_cast<millis::rep>(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const auto stands = co_await dial(current_, lease_clock::now() + share);
        if (stands.has_value() || closed_.is_set()) co_return stands;
        if (!first || (may_pass(first->code) && !may_pass(stands.error().code)))
            first = stands.error();
        current_ = (current_ + 1) % nodes_.size();
    }
    co_return *first;
}

async<void> client::dial(std::size_t index, instant deadline) {
    auto seen = co_await reach(index, deadline);
    if (seen.has_error()) co_return seen.error();
    facts_ = std::move(*seen);
    if (!settings_->user.empty()) {
        auto logging_in = log_in(deadline);
        const auto logged_in = co_await std::move(logging_in);
        if (logged_in.has_error()) co_return logged_in.error();
    }
    if (!is_lent()) co_return result<void>{};
    auto looking = look(index, deadline);
    co_return co_await std::move(looking);
}

// Sees who is there, and makes a channel to it.
async<node_facts> client::reach(std::size_t index, instant deadline) {
    if (is_lent()) {
        auto borrowing = borrow(index, deadline);
        co_return co_await std::move(borrowing);
    }
    auto seen = co_await probe(executor_, nodes_[index].where, *settings_, deadline);
    if (seen.has_error()) co_return seen.error();
    auto& one = nodes_[index];
    if (one.channel && one.address == seen->address) co_return seen;
    auto made = make_channel(one.where, seen->address, *settings_);
    if (made.has_error())
        co_return failure{made.error().code, one.place + ": " + made.error().detail};
    one.channel = std::move(*made);
    one.address = seen->address;
    co_return seen;
}

// Asked for anew after each failure: the application may have made another.
async<node_facts> client::borrow(std::size_t index, instant deadline) {
    if (auto bad = begin_grpc()) co_return std::move(*bad);
    auto asking = channel_provider::ask(settings_->lent_by, deadline, nodes_[index].place);
    auto given = co_await std::move(asking);
    if (given.has_error()) co_return given.error();
    nodes_[index].channel = *std::move(given);
    co_return node_facts{{}, {}, read_own_clock(), {}};
}

// Who is at the other end of a channel of the application's, as far as this user may know.
async<void> client::look(std::size_t index, instant deadline) {
    auto asking = ask_status(index, deadline);
    const auto status = co_await std::move(asking);
    if (status.has_error() && status.error().code != errc::denied) co_return status.error();
    if (status.has_error()) co_return result<void>{};
    if (auto old = reject_old(nodes_[index].place, status->version())) co_return std::move(*old);
    facts_->version = status->version();
    co_return result<void>{};
}

// One at a time: a login takes etcd a tenth of a second of a processor. Until there is another
// token the one that has ended stays, as a request without any is told that it may not.
async<void> client::log_in_again(std::string expired, instant deadline) {
    while (connected_ && token_ == expired && logging_in_) {
        auto waiting = logged_in_.wait_until(deadline);
        if (!co_await std::move(waiting))
            co_return failure{errc::unreachable,
                              nodes_[current_].place + ": no login within the time"};
    }
    // Who connects logs in.
    if (token_ != expired || !connected_) co_return result<void>{};
    struct turn {
        client& of;
        ~turn() {
            of.logging_in_ = false;
            of.logged_in_.notify_all();
        }
    };
    logging_in_ = true;
    const turn until_the_end{*this};
    auto logging_in = log_in(deadline);
    co_return co_await std::move(logging_in);
}

// At the present node.
async<void> client::log_in(instant deadline) {
    if (settings_->user.empty())
        co_return failure{errc::denied, nodes_[current_].place + ": the login is not valid"};
    wire::AuthenticateRequest request;
    request.set_name(settings_->user);
    request.set_password(settings_->password);
    auto one = std::make_shared<exchanged>();
    one->channel = channel();
    one->request = pack(request);
    const auto asked = current_;
    const auto status = co_await call(one, method::authenticate, deadline);
    if (!status.ok()) {
        const auto waited = base::format_duration(settings_->common.timeout);
        auto rejected = explain_rejection(nodes_[asked].place, status, effect::none, waited);
        if (!is_auth_disabled(rejected.why)) co_return std::move(rejected.why);
        // A cluster that asks for no login needs none.
        token_.clear();
        co_return result<void>{};
    }
    wire::AuthenticateResponse answer;
    if (!unpack(one->response, answer))
        co_return unreadable_answer(nodes_[asked].place, method::authenticate, effect::none);
    token_ = answer.token();
    co_return result<void>{};
}

async<clock_reading> client::clock(request_limits limits) {
    const auto self = shared_from_this();
    if (!connected_) {
        const auto stands = co_await ready(limits);
        if (stands.has_error()) co_return stands.error();
    }
    const auto now = lease_clock::now();
    const auto age = now - facts_->clock.taken();
    if (age < settings_->clock_age_max || now < clock_not_before_) co_return facts_->clock;
    if (is_lent()) {
        facts_->clock = read_own_clock();
        co_return facts_->clock;
    }
    const auto asked = current_;
    // Half of the time is the caller's request's.
    const auto until = now + std::max(limits.deadline - now, instant::duration{0}) / 2;
    auto probing = probe(executor_, nodes_[asked].where, *settings_, until, nodes_[asked].address);
    auto seen = co_await std::move(probing);
    if (seen.has_error()) {
        if (!may_pass(seen.error().code)) co_return seen.error();
        // Whether the node is well is what its channel says, over which renewals go.
        if (age < clock_kept_max) {
            clock_not_before_ = lease_clock::now() + clock_retry_after;
            co_return facts_->clock;
        }
        if (asked == current_) leave_node();
        co_return seen.error();
    }
    const auto read = seen->clock;
    if (asked == current_) facts_ = std::move(*seen);
    co_return read;
}

// ---- Ending

void client::close() {
    closed_.set();
    connected_ = false;
    wake(store_down::retry);
}

void client::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void client::loop_ends() {
    // Coroutines that wait die with the loop; those of gRPC's threads find no waiter.
    closed_.set();
}

}  // namespace pawl::etcd
