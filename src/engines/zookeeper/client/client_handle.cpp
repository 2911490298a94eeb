#include "engines/zookeeper/client/client_handle.hpp"

#include "engines/zookeeper/client/error_mapping.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace pawl::zookeeper {
namespace {

// How many answers are taken before others of the loop have their turn.
constexpr int answers_at_once = 256;
// How many servers are tried before the loop has its turn, and how soon then.
constexpr int attempts_at_once = 4;
constexpr millis attempt_pause{10};

node_stat stat_of(const Stat& raw) {
    node_stat stat;
    stat.created_zxid = raw.czxid;
    stat.modified_zxid = raw.mzxid;
    stat.created = raw.ctime;
    stat.modified = raw.mtime;
    stat.version = raw.version;
    stat.children = raw.numChildren;
    stat.owner = raw.ephemeralOwner;
    return stat;
}

// Its own log would add lines that cannot be switched off; a failure says what is wrong.
void drop_log(const char*) {}

// The C client wants no brackets. After a failure it passes two addresses on: of an even number it
// would see every other one only.
std::string hosts_of(const std::vector<server>& addresses) {
    std::string text;
    const auto add = [&](const server& one) {
        text.append(text.empty() ? "" : ",").append(one.host).append(":");
        text.append(std::to_string(one.port));
    };
    for (const auto& one : addresses) add(one);
    if (addresses.size() % 2 == 0 && !addresses.empty()) add(addresses.front());
    return text;
}

// A program that links the variant with threads itself has its names stand before those of ours.
bool is_bound_to_threads() {
    Dl_info found{};
    if (dladdr(reinterpret_cast<void*>(&zookeeper_interest), &found) == 0) return false;
    auto* const library = dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return library != nullptr && dlsym(library, "zoo_create") != nullptr;
}

}  // namespace

struct exchange {
    exchange(client_handle* where, std::uint64_t number, request wanted)
        : where{where}, number{number}, asked{std::move(wanted)} {}

    client_handle* where;
    std::uint64_t number;
    request asked;
    std::vector<zoo_op_t> steps;
    std::vector<zoo_op_result_t> results;
    std::vector<Stat> stats;
    int code = ZOK;
    answer got;
};

// What the C client calls, inside our calls of it.
struct client_handle::callbacks {
    static exchange* of(const void* data) {
        return const_cast<exchange*>(static_cast<const exchange*>(data));
    }

    static void tell(exchange* done, int code) {
        done->code = code;
        --done->where->unanswered_;
        done->where->events_.emplace_back(done->number);
    }

    static void got_data(int code, const char* text, int size, const Stat* stat, const void* data) {
        auto* done = of(data);
        if (code == ZOK) {
            if (text != nullptr && size > 0)
                done->got.text.assign(text, static_cast<std::size_t>(size));
            done->got.stat = stat_of(*stat);
        }
        tell(done, code);
    }
    static void got_stat(int code, const Stat* stat, const void* data) {
        auto* done = of(data);
        if (code == ZOK && stat != nullptr) done->got.stat = stat_of(*stat);
        tell(done, code);
    }
    static void got_names(int code, const String_vector* names, const void* data) {
        auto* done = of(data);
        if (code == ZOK && names != nullptr)
            done->got.names.assign(names->data, names->data + names->count);
        tell(done, code);
    }
    static void got_text(int code, const char*, const void* data) { tell(of(data), code); }
    static void got_nothing(int code, const void* data) { tell(of(data), code); }

    static void session_event(zhandle_t*, int type, int state, const char*, void* context) {
        if (type != ZOO_SESSION_EVENT) return;
        auto* home = static_cast<client_handle*>(context);
        auto now = link_state::connecting;
        if (state == ZOO_CONNECTED_STATE) now = link_state::connected;
        if (state == ZOO_READONLY_STATE) now = link_state::read_only;
        if (state == ZOO_EXPIRED_SESSION_STATE) now = link_state::expired;
        if (state == ZOO_AUTH_FAILED_STATE) now = link_state::rejected;
        home->connected_ = now == link_state::connected;
        home->events_.emplace_back(now);
    }
    static void node_event(zhandle_t*, int type, int, const char* path, void* context) {
        // The state of the session is told above.
        if (type == ZOO_SESSION_EVENT || path == nullptr) return;
        static_cast<client_handle*>(context)->events_.emplace_back(std::string{path});
    }
};

result<std::unique_ptr<client_handle>> client_handle::open(const zookeeper_settings& settings,
                                                           const std::vector<server>& addresses,
                                                           millis timeout) {
    static const bool threaded = is_bound_to_threads();
    if (threaded)
        return failure{errc::unsupported,
                       place_of(settings) +
                           ": this program links libzookeeper_mt, and pawl needs libzookeeper_st"};
    std::unique_ptr<client_handle> made{new client_handle};
    made->who_ = settings.who;
    made->hosts_ = hosts_of(addresses);
    {
        // The order of servers is a switch of the whole C client, and we know which one answers.
        static std::mutex ordering;
        const std::lock_guard lock{ordering};
        zoo_deterministic_conn_order(1);
        made->handle_ = zookeeper_init2(made->hosts_.c_str(), &callbacks::session_event,
                                        static_cast<int>(timeout.count()), nullptr, made.get(),
                                        ZOO_NO_LOG_CLIENTENV, &drop_log);
        zoo_deterministic_conn_order(0);
    }
    if (made->handle_ == nullptr)
        return failure{errc::unreachable, place_of(settings) + ": " + std::strerror(errno)};
    // Otherwise the addresses are parsed again with every packet.
    zoo_set_servers_resolution_delay(made->handle_, -1);
    if (!settings.user.empty()) {
        const auto login = settings.user + ":" + settings.password;
        zoo_add_auth(made->handle_, "digest", login.data(), static_cast<int>(login.size()), nullptr,
                     nullptr);
    }
    return made;
}

client_handle::~client_handle() {
    if (handle_ == nullptr) return;
    send_gathered();
    // Answers what is under way, into exchanges that are still there.
    zookeeper_close(handle_);
}

namespace {

void write_steps(exchange& what, const ACL_vector* acl) {
    const auto count = what.asked.steps.size();
    what.steps.resize(count);
    what.results.resize(count);
    what.stats.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& step = what.asked.steps[i];
        auto* op = &what.steps[i];
        const auto size = static_cast<int>(step.text.size());
        switch (step.what) {
            case operation::kind::check:
                zoo_check_op_init(op, step.path.c_str(), step.version);
                break;
            case operation::kind::set:
                zoo_set_op_init(op, step.path.c_str(), step.text.data(), size, step.version,
                                &what.stats[i]);
                break;
            case operation::kind::create:
                zoo_create_op_init(op, step.path.c_str(), step.text.data(), size, acl, 0, nullptr,
                                   0);
                break;
            case operation::kind::create_ephemeral:
                zoo_create_op_init(op, step.path.c_str(), step.text.data(), size, acl,
                                   ZOO_EPHEMERAL, nullptr, 0);
                break;
            case operation::kind::remove:
                zoo_delete_op_init(op, step.path.c_str(), step.version);
                break;
        }
    }
}

}  // namespace

int client_handle::submit(std::uint64_t number, request asked) {
    const auto [place, fresh] =
        exchanges_.emplace(number, std::make_unique<exchange>(this, number, std::move(asked)));
    gather_writes();
    auto* what = place->second.get();
    const auto& wanted = what->asked;
    const auto* path = wanted.path.c_str();
    const auto* text = wanted.text.data();
    const auto size = static_cast<int>(wanted.text.size());
    const auto* acl = who_ == access::creator ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
    int code = ZOK;
    switch (wanted.what) {
        case request::kind::get:
            code = zoo_aget(handle_, path, 0, &callbacks::got_data, what);
            break;
        case request::kind::get_and_watch:
            code =
                zoo_awget(handle_, path, &callbacks::node_event, this, &callbacks::got_data, what);
            break;
        case request::kind::exists:
            code = zoo_aexists(handle_, path, 0, &callbacks::got_stat, what);
            break;
        case request::kind::children:
            code = zoo_aget_children(handle_, path, 0, &callbacks::got_names, what);
            break;
        case request::kind::sync:
            code = zoo_async(handle_, path, &callbacks::got_text, what);
            break;
        case request::kind::set:
            code = zoo_aset(handle_, path, text, size, wanted.version, &callbacks::got_stat, what);
            break;
        case request::kind::create:
            code = zoo_acreate(handle_, path, text, size, acl, 0, &callbacks::got_text, what);
            break;
        case request::kind::remove:
            code = zoo_adelete(handle_, path, wanted.version, &callbacks::got_nothing, what);
            break;
        case request::kind::transaction:
            write_steps(*what, acl);
            code = zoo_amulti(handle_, static_cast<int>(what->steps.size()), what->steps.data(),
                              what->results.data(), &callbacks::got_nothing, what);
            break;
    }
    if (code == ZOK)
        ++unanswered_;
    else
        exchanges_.erase(place);
    return code;
}

result<answer> client_handle::take(std::uint64_t number, std::string_view place) {
    const auto found = exchanges_.find(number);
    if (found == exchanges_.end()) return failure{errc::unreachable, std::string{place}};
    const auto done = std::move(found->second);
    exchanges_.erase(found);
    auto path = std::string_view{done->asked.path};
    const auto& steps = done->asked.steps;
    // Those before the one that failed say yes, and those behind it that they were not tried.
    for (std::size_t i = 0; done->code != ZOK && i < steps.size(); ++i) {
        if (done->results[i].err == ZOK || done->results[i].err == ZRUNTIMEINCONSISTENCY) continue;
        done->got.failed_step = i;
        path = steps[i].path;
        break;
    }
    const auto judged = judge_code(done->code, done->asked.writes(), place, path);
    if (judged.has_error()) return judged.error();
    done->got.code = *judged;
    for (std::size_t i = 0; done->got.done() && i < steps.size(); ++i) {
        if (steps[i].what != operation::kind::set) continue;
        done->got.stat = stat_of(done->stats[i]);
        break;
    }
    return std::move(done->got);
}

millis client_handle::negotiated_timeout() const { return millis{zoo_recv_timeout(handle_)}; }

std::int64_t client_handle::session_id() const { return zoo_client_id(handle_)->client_id; }

// ---- The connection

bool client_handle::has_socket() const {
    const auto now = zoo_state(handle_);
    return now != 0 && now != ZOO_NOTCONNECTED_STATE && is_unrecoverable(handle_) == ZOK;
}

// The reactor may end a wait for a socket that is gone on the one that has its place. A connection
// that is being made is spoilt by that, and any other takes it for nothing.
bool client_handle::is_ready(short direction) const {
    if (zoo_state(handle_) != ZOO_CONNECTING_STATE) return true;
    pollfd made{socket_, direction, 0};
    return poll(&made, 1, 0) > 0;
}

void client_handle::read() {
    if (!is_ready(POLLIN)) return;
    // It takes one answer a call. Where nothing is under way, nothing more is expected; what comes
    // unexpected makes the socket readable again.
    for (int taken = 0; taken < answers_at_once; ++taken)
        if (zookeeper_process(handle_, ZOOKEEPER_READ) != ZOK || unanswered_ == 0) break;
}

void client_handle::write() {
    if (is_ready(POLLOUT)) zookeeper_process(handle_, ZOOKEEPER_WRITE);
}

// The C client writes each request by itself, and its length before it: two packets, each of which
// wakes the server, unless the kernel is told to wait for more.
void client_handle::gather_writes() {
    if (gathering_ || !has_socket()) return;
    gathering_ = true;
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

void client_handle::send_gathered() {
    if (!std::exchange(gathering_, false) || !has_socket()) return;
    const int off = 0;
    setsockopt(socket_, IPPROTO_TCP, TCP_CORK, &off, sizeof off);
}

handle_wants client_handle::attend() {
    send_gathered();
    fail_what_was_sent();
    handle_wants wants;
    const auto now = lease_clock::now();
    for (int attempt = 0; attempt < attempts_at_once; ++attempt) {
        if (is_unrecoverable(handle_) != ZOK) return wants;
        const bool had_socket = has_socket();
        if (!had_socket) change_servers();
        int directions = 0;
        timeval left{};
        const int code = zookeeper_interest(handle_, &socket_, &directions, &left);
        if (!has_socket() && code != ZOK) continue;
        wants.by = now + attempt_pause;
        if (code == ZOK)
            wants.by = now + std::max<std::chrono::nanoseconds>(
                                 millis{1}, std::chrono::seconds{left.tv_sec} +
                                                std::chrono::microseconds{left.tv_usec});
        if (!has_socket()) return wants;
        if (!had_socket) {
            ++links_;
            // The C client leaves it open to the programs that this one starts.
            fcntl(socket_, F_SETFD, FD_CLOEXEC);
        }
        wants.link = links_;
        wants.socket = socket_;
        wants.write = (directions & ZOOKEEPER_WRITE) != 0;
        return wants;
    }
    wants.by = now + attempt_pause;
    return wants;
}

// Where a request cannot be written, the C client closes the socket and reports it nowhere: what it
// has sent stays without an answer, and is in the way of the answers over its next connection. It
// lets go of all that where a connection breaks, so one is begun and broken.
void client_handle::fail_what_was_sent() {
    if (!connected_ || zoo_state(handle_) != ZOO_NOTCONNECTED_STATE) return;
    connected_ = false;
    events_.emplace_back(link_state::connecting);
    int directions = 0;
    timeval left{};
    zookeeper_interest(handle_, &socket_, &directions, &left);
    if (has_socket()) ++links_;
    shake();
}

void client_handle::shake() {
    if (!has_socket()) return;
    shutdown(socket_, SHUT_RDWR);
    // What has arrived comes first, then the end.
    while (has_socket())
        if (zookeeper_process(handle_, ZOOKEEPER_READ) != ZOK) break;
}

void client_handle::move_to(const std::vector<server>& addresses) {
    auto hosts = hosts_of(addresses);
    if (hosts != hosts_) next_hosts_ = std::move(hosts);
}

// Told while it is connected, the C client might close its socket, again without a word.
void client_handle::change_servers() {
    if (next_hosts_.empty()) return;
    zoo_set_servers(handle_, next_hosts_.c_str());
    hosts_ = std::exchange(next_hosts_, {});
}

}  // namespace pawl::zookeeper
