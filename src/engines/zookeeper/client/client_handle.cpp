#include "engines/zookeeper/client/client_handle.hpp"

#include "base/number.hpp"
#include "engines/zookeeper/client/refusals.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

namespace pawl::zookeeper {
namespace {

// How long the end of a process waits for sessions that are being closed.
constexpr millis closing_timeout{250};

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

// Its own log would add lines that nobody can switch off; a failure says what is wrong.
void drop_log(const char*) {}

std::string hosts_of(const std::vector<server>& order) {
    std::string text;
    for (const auto& one : order) text.append(text.empty() ? "" : ",").append(place_of(one));
    return text;
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
    // Written by the client's thread before it posts
    int code = ZOK;
    answer got;
};

// What the C client calls, on its own threads.
struct client_handle::callbacks {
    static exchange* of(const void* data) {
        return const_cast<exchange*>(static_cast<const exchange*>(data));
    }

    static void tell(exchange* done, int code) {
        done->code = code;
        const auto* home = done->where;
        home->home_->post([listener = home->listener_, number = done->number] {
            if (const auto there = listener.lock()) there->answered(number);
        });
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
        const auto* home = static_cast<const client_handle*>(context);
        auto now = link_state::connecting;
        if (state == ZOO_CONNECTED_STATE) now = link_state::connected;
        if (state == ZOO_READONLY_STATE) now = link_state::read_only;
        if (state == ZOO_EXPIRED_SESSION_STATE) now = link_state::expired;
        if (state == ZOO_AUTH_FAILED_STATE) now = link_state::refused;
        home->home_->post([listener = home->listener_, number = home->number_, now] {
            if (const auto there = listener.lock()) there->state_changed(number, now);
        });
    }
    static void node_event(zhandle_t*, int type, int, const char* path, void* context) {
        // The state of the session is told above.
        if (type == ZOO_SESSION_EVENT || path == nullptr) return;
        const auto* home = static_cast<const client_handle*>(context);
        home->home_->post([listener = home->listener_, place = std::string{path}]() mutable {
            if (const auto there = listener.lock()) there->node_changed(std::move(place));
        });
    }
};

client_handle::client_handle(std::uint64_t number, std::shared_ptr<net::attachment> home,
                             std::weak_ptr<handle_listener> listener)
    : number_{number}, home_{std::move(home)}, listener_{std::move(listener)} {}

result<std::unique_ptr<client_handle>> client_handle::open(
    const zookeeper_settings& settings, const std::vector<server>& order, millis timeout,
    std::uint64_t number, std::shared_ptr<net::attachment> home,
    std::weak_ptr<handle_listener> listener) {
    std::unique_ptr<client_handle> made{
        new client_handle{number, std::move(home), std::move(listener)}};
    made->who_ = settings.who;
    const auto hosts = hosts_of(order);
    {
        // The order of servers is a switch of the whole C client, and we know which one answers.
        static std::mutex ordering;
        const std::lock_guard lock{ordering};
        zoo_deterministic_conn_order(1);
        made->handle_ = zookeeper_init2(hosts.c_str(), &callbacks::session_event,
                                        static_cast<int>(timeout.count()), nullptr, made.get(),
                                        ZOO_NO_LOG_CLIENTENV, &drop_log);
        zoo_deterministic_conn_order(0);
    }
    if (made->handle_ == nullptr)
        return failure{errc::unreachable, place_of(settings) + ": " + std::strerror(errno)};
    // Otherwise names are resolved again with every packet.
    zoo_set_servers_resolution_delay(made->handle_, -1);
    if (!settings.user.empty()) {
        const auto login = settings.user + ":" + settings.password;
        zoo_add_auth(made->handle_, "digest", login.data(), static_cast<int>(login.size()), nullptr,
                     nullptr);
    }
    return made;
}

client_handle::~client_handle() {
    // Joins the client's threads: from then on nobody writes to an exchange.
    if (handle_ != nullptr) zookeeper_close(handle_);
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
    if (code != ZOK) exchanges_.erase(place);
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

namespace {

// As the C client writes the server that it is connected to, or tries to be.
std::string text_of_address(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = {};
    std::uint16_t port = 0;
    if (address.ss_family == AF_INET) {
        const auto& four = reinterpret_cast<const sockaddr_in&>(address);
        inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
        port = ntohs(four.sin_port);
    } else if (address.ss_family == AF_INET6) {
        const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
        inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
        port = ntohs(six.sin6_port);
    }
    return std::string{text} + ":" + std::to_string(port);
}

}  // namespace

// The client does not show its socket, so every connection of this process to that server is
// broken; a duplicate of each descriptor is looked at, as the original may be closed and become
// another file at any moment.
void client_handle::shake() const {
    const std::string whom = zoo_get_current_server(handle_);
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd", ignored}) {
        const auto number = base::parse_number<int>(entry.path().filename().string());
        const int copy = fcntl(number.value_or(-1), F_DUPFD_CLOEXEC, 0);
        if (copy < 0) continue;
        sockaddr_storage other{};
        socklen_t size = sizeof other;
        if (getpeername(copy, reinterpret_cast<sockaddr*>(&other), &size) == 0 &&
            text_of_address(other) == whom)
            shutdown(copy, SHUT_RDWR);
        close(copy);
    }
}

namespace {

// The thread that closes handles, and what waits for it.
class graveyard {
public:
    // Never destroyed: the C client's threads may run until the process is gone.
    static graveyard& instance() {
        static auto* const only = new graveyard;
        return *only;
    }

    void add(std::unique_ptr<client_handle> handle, instant when) {
        const std::lock_guard lock{mutex_};
        graves_.push_back({std::move(handle), when});
        if (!running_) {
            running_ = true;
            std::thread{[this] { dig(); }}.detach();
            std::atexit([] { instance().settle(); });
        }
        changed_.notify_all();
    }

private:
    struct grave {
        std::unique_ptr<client_handle> handle;
        instant when;
    };

    void dig() {
        std::unique_lock lock{mutex_};
        for (;;) {
            const auto next =
                std::min_element(graves_.begin(), graves_.end(),
                                 [](const grave& a, const grave& b) { return a.when < b.when; });
            if (next == graves_.end()) {
                changed_.wait(lock);
                continue;
            }
            const auto left = next->when - lease_clock::now();
            if (left.count() > 0) {
                changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, nap_max));
                continue;
            }
            auto due = std::move(next->handle);
            graves_.erase(next);
            ++closing_;
            lock.unlock();
            due.reset();
            lock.lock();
            --closing_;
            changed_.notify_all();
        }
    }

    void settle() {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, closing_timeout, [this] {
            const auto now = lease_clock::now();
            return closing_ == 0 && std::none_of(graves_.begin(), graves_.end(),
                                                 [&](const auto& one) { return one.when <= now; });
        });
    }

    // The condition's clock stops while the machine sleeps.
    static constexpr std::chrono::seconds nap_max{10};

    std::mutex mutex_;
    std::condition_variable changed_;
    // Under mutex_
    std::vector<grave> graves_;
    int closing_ = 0;
    bool running_ = false;
};

}  // namespace

void bury(std::unique_ptr<client_handle> handle, instant when) {
    if (handle) graveyard::instance().add(std::move(handle), when);
}

}  // namespace pawl::zookeeper
