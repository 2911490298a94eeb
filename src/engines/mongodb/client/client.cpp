#include "engines/mongodb/client/client.hpp"

#include "base/duration.hpp"
#include "net/detached_thread.hpp"
#include "net/event.hpp"

#include <mongoc/mongoc.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <utility>

namespace pawl::mongodb {
namespace {

// More than the writers of a race, which are all on their way at once.
constexpr std::size_t connections_max = 16;
// How often the library looks at each server beside the commands, which look as well.
constexpr std::int32_t heartbeat_ms = 5000;

// How long a primary is looked for: those who would wait for one longer ask again, and those who
// would not are told that it is gone. A server that was lost is looked at again half a second later
// at the earliest, so less than twice that would find none.
constexpr std::int32_t selection_min_ms = 1000;
constexpr std::int32_t selection_max_ms = 3000;

struct freed {
    void operator()(mongoc_uri_t* what) const noexcept { mongoc_uri_destroy(what); }
    void operator()(mongoc_client_pool_t* what) const noexcept { mongoc_client_pool_destroy(what); }
};
using uri_ptr = std::unique_ptr<mongoc_uri_t, freed>;
using pool_ptr = std::unique_ptr<mongoc_client_pool_t, freed>;

void begin_library() {
    static std::once_flag begun;
    std::call_once(begun, [] {
        // It would write to standard error, and what it says may hold what a server said.
        mongoc_log_set_handler(nullptr, nullptr);
        mongoc_init();
    });
}

uri_ptr parse(const std::string& text, std::string& words) {
    begin_library();
    bson_error_t error{};
    uri_ptr uri{mongoc_uri_new_with_error(text.c_str(), &error)};
    if (!uri) words = error.message;
    return uri;
}

void set_unless_told(mongoc_uri_t* uri, const char* option, std::int32_t value) {
    if (!mongoc_uri_has_option(uri, option)) mongoc_uri_set_option_as_int32(uri, option, value);
}

server_error told(const bson_error_t& error) { return {error.domain, error.code, error.message}; }

}  // namespace

std::optional<std::string> uri_fault(const std::string& uri) {
    std::string words;
    if (parse(uri, words)) return std::nullopt;
    // It quotes what it does not understand, which may be a password that is not encoded.
    return words.find('\'') == std::string::npos && words.find('"') == std::string::npos
               ? words
               : "libmongoc does not take it";
}

// Thread-safe.
class client::connections {
public:
    explicit connections(client_settings settings) : settings_{std::move(settings)} {}

    // Blocks. Commands until one fails.
    result<answers> run(const request& what);
    bool has_answered() const noexcept { return has_answered_; }

private:
    std::shared_ptr<mongoc_client_pool_t> pool(server_error& why);
    void forget_unless_used(const std::shared_ptr<mongoc_client_pool_t>& made);
    std::optional<server_error> ask(mongoc_client_t* on, const document& command, document& reply);
    std::optional<greeting> greet(mongoc_client_t* on, server_error& why);

    const client_settings settings_;
    std::mutex mutex_;
    std::shared_ptr<mongoc_client_pool_t> pool_;  // under mutex_
    std::atomic<bool> has_answered_{false};
    std::atomic<bool> knows_hello_{true};
};

std::shared_ptr<mongoc_client_pool_t> client::connections::pool(server_error& why) {
    const std::lock_guard lock{mutex_};
    if (pool_) return pool_;
    const auto uri = parse(settings_.uri, why.words);
    if (!uri) return nullptr;
    const auto longest =
        static_cast<std::int32_t>(std::clamp<millis::rep>(settings_.timeout.count(), 100, 600'000));
    set_unless_told(uri.get(), MONGOC_URI_CONNECTTIMEOUTMS, longest);
    set_unless_told(uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, longest);
    set_unless_told(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS,
                    std::clamp(longest, selection_min_ms, selection_max_ms));
    set_unless_told(uri.get(), MONGOC_URI_HEARTBEATFREQUENCYMS, heartbeat_ms);
    mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_MAXPOOLSIZE, connections_max);
    // What was not answered is looked for before it is written again.
    mongoc_uri_set_option_as_bool(uri.get(), MONGOC_URI_RETRYWRITES, false);
    if (!mongoc_uri_has_option(uri.get(), MONGOC_URI_APPNAME))
        mongoc_uri_set_appname(uri.get(), "pawl");
    bson_error_t error{};
    pool_ptr made{mongoc_client_pool_new_with_error(uri.get(), &error)};
    if (!made) {
        why = told(error);
        // Nothing was asked yet.
        if (why.domain == 0) why.domain = MONGOC_ERROR_SERVER_SELECTION;
        return nullptr;
    }
    mongoc_client_pool_set_error_api(made.get(), MONGOC_ERROR_API_VERSION_2);
    pool_ = std::move(made);
    return pool_;
}

// One whose first look-up of names has failed does not look again.
void client::connections::forget_unless_used(const std::shared_ptr<mongoc_client_pool_t>& made) {
    if (has_answered_ || !settings_.uri.starts_with("mongodb+srv:")) return;
    const std::lock_guard lock{mutex_};
    if (pool_ == made) pool_.reset();
}

std::optional<server_error> client::connections::ask(mongoc_client_t* on, const document& command,
                                                     document& reply) {
    bson_t got;
    bson_error_t error{};
    const bool done = mongoc_client_command_simple(on, settings_.database.c_str(), command.bytes(),
                                                   nullptr, &got, &error);
    reply = document{&got};
    bson_destroy(&got);
    if (done) {
        has_answered_ = true;
        return std::nullopt;
    }
    return told(error);
}

std::optional<greeting> client::connections::greet(mongoc_client_t* on, server_error& why) {
    greeting made;
    for (;;) {
        const bool by_new_name = knows_hello_;
        document command;
        command.small(by_new_name ? "hello" : "isMaster", 1);
        made.asked = lease_clock::now();
        const auto rejected = ask(on, command, made.said);
        made.answered = lease_clock::now();
        if (!rejected) return made;
        // MongoDB before 4.4.2, and what imitates it, knows it by its old name only.
        why = *rejected;
        if (!by_new_name || !is_unknown_command(why)) return std::nullopt;
        knows_hello_ = false;
    }
}

result<answers> client::connections::run(const request& what) {
    server_error why;
    const auto from = pool(why);
    if (!from) return explain_rejection(settings_.place, why, effect::none);
    auto* on = mongoc_client_pool_pop(from.get());
    answers all;
    std::optional<server_error> rejected;
    for (const auto& command : what.commands) {
        document reply;
        rejected = ask(on, command, reply);
        // A connection that was lost while it was idle costs a read nothing but time.
        if (rejected && is_cut(*rejected) && what.does == effect::none)
            rejected = ask(on, command, reply);
        if (rejected) break;
        all.replies.push_back(std::move(reply));
    }
    if (!rejected && what.greets) {
        all.hello = greet(on, why);
        // What was written is written, with or without a time. What was read is read again: a
        // store that has never told the time could not go by it.
        if (!all.hello && what.does == effect::none) rejected = why;
    }
    mongoc_client_pool_push(from.get(), on);
    if (!rejected) return all;
    forget_unless_used(from);
    return explain_rejection(settings_.place, *rejected, what.does);
}

// What a thread of the pool and the coroutine that waits for it share.
struct client::job {
    explicit job(request what) : what{std::move(what)} {}

    enum class state { queued, running, abandoned };
    const request what;
    std::atomic<state> phase{state::queued};
    net::event done;                         // on the loop only
    std::optional<result<answers>> outcome;  // on the loop only
};

client::client(net::loop& where, client_settings settings)
    : settings_{std::move(settings)},
      connections_{std::make_shared<connections>(settings_)},
      attachment_{net::attach(where.get_executor())},
      threads_{std::make_shared<net::blocking_pool>(connections_max)} {}

// The library bounds what is being asked, but for the look-up of a name; and it waits for its own
// threads, which look names up as well.
client::~client() {
    if (!process_.is_forked_child()) {
        net::run_detached_for(settings_.timeout,
                              [threads = std::exchange(threads_, nullptr),
                               on = std::exchange(connections_, nullptr)] { threads->stop(); });
        return;
    }
    // The threads are the parent's.
    net::keep_for_ever(threads_);
    net::keep_for_ever(connections_);
}

bool client::has_answered() const noexcept { return connections_->has_answered(); }

async<answers> client::run(request what, instant until) {
    const auto mine = std::make_shared<job>(std::move(what));
    const auto place = settings_.place;
    const auto longest = std::chrono::ceil<millis>(until - lease_clock::now());
    // The event is the loop's, so the thread holds it by a weak pointer only.
    auto work = [on = connections_, home = attachment_, seen = std::weak_ptr{mine}] {
        std::optional<request> todo;
        if (const auto asked = seen.lock()) {
            auto queued = job::state::queued;
            if (asked->phase.compare_exchange_strong(queued, job::state::running))
                todo = asked->what;
        }
        if (!todo) return;
        home->post([seen, got = std::make_shared<result<answers>>(on->run(*todo))] {
            const auto asked = seen.lock();
            if (!asked) return;
            asked->outcome = std::move(*got);
            asked->done.set();
        });
    };
    try {
        threads_->submit(std::move(work));
    } catch (const std::system_error&) {
        co_return failure{errc::unreachable, place + ": this machine has no thread left"};
    }
    auto waiting = mine->done.wait_until(until);
    co_await std::move(waiting);
    if (mine->outcome) co_return std::move(*mine->outcome);
    const bool ran = mine->phase.exchange(job::state::abandoned) == job::state::running;
    const bool may_have_written = ran && mine->what.does == effect::writes;
    co_return failure{may_have_written ? errc::outcome_unknown : errc::unreachable,
                      place + ": no answer within " + base::format_duration(longest)};
}

}  // namespace pawl::mongodb
