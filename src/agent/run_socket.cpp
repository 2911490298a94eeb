#include "agent/run_socket.hpp"

#include "base/identity.hpp"
#include "base/text.hpp"
#include "exec/folder.hpp"
#include "net/callback_timer.hpp"
#include "net/event.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace pawl::agent {
namespace {

using boost::asio::awaitable;
using local = boost::asio::local::stream_protocol;
namespace json = boost::json;

// Before the next attempt to accept, when there are no descriptors left.
constexpr millis accept_pause{100};

// What a connection needs until it is answered; its timer ends it from outside.
struct connection {
    explicit connection(local::socket from) : peer{std::move(from)}, expiry{peer.get_executor()} {}

    local::socket peer;
    net::callback_timer expiry;
    std::string text;
};

json::object rejected(std::string detail) {
    return {{"answer", "rejected"}, {"detail", std::move(detail)}};
}

json::object failed(errc code, std::string_view detail) {
    return {{"answer", "failed"}, {"error", name_of(code)}, {"detail", detail}};
}

std::optional<json::object> parse(std::string_view line) {
    boost::system::error_code bad;
    auto value = json::parse(line, bad);
    if (bad || !value.is_object()) return std::nullopt;
    return std::move(value.as_object());
}

std::string text_of(const json::object& asked, std::string_view name) {
    const auto* value = asked.if_contains(name);
    return value != nullptr && value->is_string() ? std::string{value->as_string()} : std::string{};
}

std::uint64_t number_of(const json::object& asked, std::string_view name) {
    const auto* value = asked.if_contains(name);
    if (value == nullptr) return 0;
    boost::system::error_code bad;
    const auto count = value->to_number<std::uint64_t>(bad);
    return bad ? 0 : count;
}

bool is_set(const json::object& asked, std::string_view name) {
    const auto* value = asked.if_contains(name);
    return value != nullptr && value->is_bool() && value->as_bool();
}

std::optional<uid_t> user_of(local::socket& peer) {
    ucred who{};
    socklen_t size = sizeof who;
    if (getsockopt(peer.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return std::nullopt;
    return who.uid;
}

}  // namespace

struct run_socket::state : std::enable_shared_from_this<state> {
    state(const boost::asio::any_io_executor& executor, run_ref mark, run_verbs todo)
        : acceptor{executor}, who{std::move(mark)}, verbs{std::move(todo)} {}

    boost::system::error_code listen(const std::string& place, std::optional<uid_t> owner);
    void close();
    bool is_heard(local::socket& peer) const;

    static awaitable<void> accept(std::shared_ptr<state> self);
    static awaitable<void> serve(std::shared_ptr<state> self, std::shared_ptr<connection> guest);
    static awaitable<std::optional<json::object>> hear(std::shared_ptr<connection> guest);
    static awaitable<json::object> answer(std::shared_ptr<state> self, json::object asked,
                                          std::string text);
    static awaitable<json::object> save(std::shared_ptr<state> self, std::string text);
    static awaitable<json::object> check(std::shared_ptr<state> self, json::object asked);

    // Constant once it listens
    local::acceptor acceptor;
    net::event room;  // told when a connection ends
    const run_ref who;
    const run_verbs verbs;
    std::string path;
    std::optional<uid_t> user;
    // State
    std::size_t connections = 0;
    // By their hashes, which are small; two that have one count once.
    std::unordered_set<std::size_t> resources{};
    bool over = false;
};

boost::system::error_code run_socket::state::listen(const std::string& place,
                                                    std::optional<uid_t> owner) {
    user = owner;
    boost::system::error_code bad;
    acceptor.open(local{}, bad);
    if (!bad) acceptor.bind(local::endpoint{place}, bad);
    if (bad) return bad;
    path = place;
    const bool closed_to_others = chmod(place.c_str(), 0600) == 0 &&
                                  (!owner || *owner == geteuid() ||
                                   chown(place.c_str(), *owner, static_cast<gid_t>(-1)) == 0);
    if (!closed_to_others) return {errno, boost::system::system_category()};
    acceptor.listen(static_cast<int>(run_connections_max), bad);
    return bad;
}

void run_socket::state::close() {
    over = true;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    room.notify_all();
    if (!path.empty()) unlink(path.c_str());
}

bool run_socket::state::is_heard(local::socket& peer) const {
    const auto from = user_of(peer);
    return from && (*from == 0 || *from == geteuid() || from == user);
}

awaitable<void> run_socket::state::accept(std::shared_ptr<state> self) {
    auto& me = *self;
    while (!me.over) {
        boost::system::error_code bad;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, bad);
        if (me.connections >= run_connections_max) {
            auto waiting = me.room.wait();
            co_await std::move(waiting);
            continue;
        }
        local::socket peer = co_await me.acceptor.async_accept(token);
        if (me.over) co_return;
        if (bad) {
            auto pause = net::sleep_for(accept_pause);
            co_await std::move(pause);
            continue;
        }
        if (!me.is_heard(peer)) continue;
        ++me.connections;
        auto guest = std::make_shared<connection>(std::move(peer));
        boost::asio::co_spawn(me.acceptor.get_executor(), serve(self, std::move(guest)),
                              boost::asio::detached);
    }
}

awaitable<void> run_socket::state::serve(std::shared_ptr<state> self,
                                         std::shared_ptr<connection> guest) {
    guest->expiry.call_after(run_request_wait_max, [guest] {
        boost::system::error_code ignored;
        guest->peer.close(ignored);
    });
    auto hearing = hear(guest);
    auto asked = co_await std::move(hearing);
    guest->expiry.cancel();
    if (asked) {
        auto answering = answer(self, std::move(*asked), std::move(guest->text));
        const json::object told = co_await std::move(answering);
        const std::string line = json::serialize(told) + '\n';
        boost::system::error_code ignored;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
        co_await boost::asio::async_write(guest->peer, boost::asio::buffer(line), token);
    }
    --self->connections;
    self->room.notify_all();
}

// The line, with the bytes behind it left in `text`.
awaitable<std::optional<json::object>> run_socket::state::hear(std::shared_ptr<connection> guest) {
    boost::system::error_code bad;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, bad);
    const std::size_t bytes_max = run_request_bytes_max + checkpoint_bytes_max;
    auto into = boost::asio::dynamic_buffer(guest->text, bytes_max);
    const std::size_t end = co_await boost::asio::async_read_until(guest->peer, into, '\n', token);
    if (bad || end > run_request_bytes_max) co_return std::nullopt;
    auto asked = parse(std::string_view{guest->text}.substr(0, end - 1));
    if (!asked) co_return std::nullopt;
    guest->text.erase(0, end);
    const auto wanted = number_of(*asked, "bytes");
    if (wanted > checkpoint_bytes_max || guest->text.size() > wanted) co_return std::nullopt;
    const auto missing = static_cast<std::size_t>(wanted) - guest->text.size();
    auto rest = boost::asio::dynamic_buffer(guest->text, bytes_max);
    if (missing > 0)
        co_await boost::asio::async_read(guest->peer, rest, boost::asio::transfer_exactly(missing),
                                         token);
    if (bad) co_return std::nullopt;
    co_return asked;
}

awaitable<json::object> run_socket::state::answer(std::shared_ptr<state> self, json::object asked,
                                                  std::string text) {
    const auto& who = self->who;
    if (text_of(asked, "run") != who.id || number_of(asked, "fence_token") != number(who.token))
        co_return rejected("this socket belongs to run " + who.id + " under token " +
                           std::to_string(number(who.token)));
    const auto verb = text_of(asked, "verb");
    if (verb == "checkpoint") {
        auto saving = save(self, std::move(text));
        json::object told = co_await std::move(saving);
        co_return told;
    }
    if (verb != "fence") co_return rejected("no such verb; expected checkpoint or fence");
    auto checking = check(self, std::move(asked));
    json::object told = co_await std::move(checking);
    co_return told;
}

awaitable<json::object> run_socket::state::save(std::shared_ptr<state> self, std::string text) {
    if (!self->verbs.save_checkpoint)
        co_return rejected("no journal keeps this run, so nothing can be saved");
    // The next command finds it in PAWL_CHECKPOINT, which would end there.
    if (const auto nul = text.find('\0'); nul != std::string::npos)
        co_return failed(errc::rejected, "invalid checkpoint: NUL at byte " +
                                             std::to_string(nul + 1) +
                                             ", which no environment variable can hold");
    auto saving = self->verbs.save_checkpoint(std::move(text));
    const auto saved = co_await std::move(saving);
    if (saved.has_error() && saved.error().code == errc::rejected)
        co_return rejected("not saved: " + saved.error().detail);
    if (saved.has_error()) co_return failed(saved.error().code, saved.error().detail);
    co_return json::object{{"answer", *saved ? "saved" : "stale"}};
}

awaitable<json::object> run_socket::state::check(std::shared_ptr<state> self, json::object asked) {
    auto resource = text_of(asked, "resource");
    if (auto bad = base::key_fault(resource)) co_return rejected("resource: " + *bad);
    const fence_token token{number_of(asked, "token")};
    if (number(token) == 0) co_return rejected("a fence is checked with a token");
    if (token > self->who.token)
        co_return rejected("token " + std::to_string(number(token)) +
                           " is newer than the run's own, " +
                           std::to_string(number(self->who.token)));
    const auto rule =
        is_set(asked, "once") ? fence_rule::reject_not_newer : fence_rule::reject_older;
    const auto hash = std::hash<std::string>{}(resource);
    if (self->resources.size() >= run_resources_max && !self->resources.contains(hash))
        co_return rejected("a run checks fences of " + std::to_string(run_resources_max) +
                           " different resources at most");
    self->resources.insert(hash);
    auto checking = self->verbs.check_fence(std::move(resource), token, rule);
    const auto judged = co_await std::move(checking);
    if (judged.has_error()) co_return failed(judged.error().code, judged.error().detail);
    co_return json::object{{"answer", "judged"},
                           {"accepted", judged->accepted},
                           {"newest", number(judged->highest)},
                           {"never_issued", judged->never_issued}};
}

run_socket::opened run_socket::open(boost::asio::any_io_executor executor,
                                    const std::string& folder, run_ref who, run_verbs verbs,
                                    std::optional<uid_t> user) {
    if (folder.empty())
        return std::string{
            "no folder for sockets can be made in RUNTIME_DIRECTORY, TMPDIR or /tmp"};
    if (const int gone = exec::restore_folder(folder); gone != 0)
        return folder + ": " + std::generic_category().message(gone);
    auto all = std::make_shared<state>(executor, std::move(who), std::move(verbs));
    if (const auto bad = all->listen(folder + '/' + base::fresh_id().substr(0, 16), user)) {
        all->close();
        return folder + ": " + bad.message();
    }
    boost::asio::co_spawn(executor, state::accept(all), boost::asio::detached);
    return std::unique_ptr<run_socket>{new run_socket{std::move(all)}};
}

run_socket::~run_socket() { state_->close(); }

const std::string& run_socket::path() const noexcept { return state_->path; }

void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value) {
    const auto start = name + '=';
    std::erase_if(environment, [&](const std::string& one) { return one.starts_with(start); });
    environment.push_back(start + value);
}

}  // namespace pawl::agent
