#include "engines/redlock/store/node.hpp"

#include "base/identity.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "net/backoff.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>

namespace pawl::redlock {
namespace {

// How long a node that is down is tried after a caller last wanted it.
constexpr millis interest{10'000};
// How many pending commands are tried one after the other though each is rejected.
constexpr std::size_t rejections_max = 16;

}  // namespace

std::shared_ptr<node> node::make(net::loop& where,
                                 std::shared_ptr<const redis::redis_settings> settings) {
    auto made = std::make_shared<node>(where, std::move(settings));
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

node::node(net::loop& where, std::shared_ptr<const redis::redis_settings> settings)
    : settings_{std::move(settings)},
      place_{redis::place_of(*settings_)},
      executor_{where.get_executor()},
      link_{redis::pipeline::make(where, settings_)},
      subscriber_{redis::subscriber::make(where, settings_)},
      pause_{executor_} {}

// ---- Asking

void node::send(std::string_view commands, std::size_t count, instant deadline,
                store_down unconnected, answer_taker taker) {
    link_->ask_then(commands, count, deadline, unconnected,
                    [self = shared_from_this(), taker = std::move(taker)](redis::answer got) {
                        self->heard(std::move(got), taker);
                    });
}

void node::ask(redis::script_call call, instant deadline, answer_taker taker) {
    scratch_.clear();
    call.append_by_digest(scratch_);
    const auto unconnected = call.unconnected();
    auto unless_unknown = [self = shared_from_this(), call = std::move(call), deadline, unconnected,
                           taker = std::move(taker)](redis::answer got) {
        if (!got.has_value() || !got->is_error() || !redis::is_unknown_script(got->text))
            return self->heard(std::move(got), taker);
        self->scratch_.clear();
        call.append_with_text(self->scratch_);
        self->send(self->scratch_, 1, deadline, unconnected, taker);
    };
    link_->ask_then(scratch_, 1, deadline, unconnected, std::move(unless_unknown));
}

std::string node::life() const {
    const auto& quarantine = settings_->common.quarantine;
    if (!quarantine) return {};
    const auto& facts = link_->facts();
    return std::to_string(quarantine->count()) + ' ' + facts.run_id + ' ' + facts.place +
           (met_ ? " seen" : " new");
}

answer_taker node::guarded(answer_taker taker) {
    if (met_ || !settings_->common.quarantine) return taker;
    return [self = shared_from_this(), taker = std::move(taker)](node_answer got) {
        if (got.has_value()) self->met_ = true;
        taker(std::move(got));
    };
}

void node::ask_when_connected(const guarded_script& what, instant deadline, store_down unconnected,
                              answer_taker taker) {
    std::string ping;
    redis::command_writer{ping, 1}.add("PING");
    send(ping, 1, deadline, unconnected,
         [self = shared_from_this(), what, deadline, taker = std::move(taker)](node_answer got) {
             if (got.has_error()) return taker(std::move(got));
             self->ask(what(self->life()), deadline, self->guarded(taker));
         });
}

void node::ask_plainly(std::string_view commands, std::size_t count, instant deadline,
                       answer_taker taker) {
    send(commands, count, deadline, store_down::retry, std::move(taker));
}

void node::heard(redis::answer got, const answer_taker& taker) {
    const bool asked_and_answered = got.has_value();
    if (asked_and_answered && got->is_error()) {
        // By the same name there may be another server by now.
        if (redis::is_read_only(got->text)) link_->leave("it is no longer a master");
        got = redis::explain_rejection(place_, got->text);
    }
    // A server that still loads its data answers, but is of no use yet; one that rejects is there.
    const bool away =
        got.has_error() && got.error().code == errc::unreachable && !got.error().answered;
    if (got.has_error() && (away || !asked_and_answered))
        note_failure(got.error());
    else
        note_answer();
    taker(std::move(got));
}

// ---- Down, and up again

void node::note_failure(const failure& why) { why_down_ = why; }

void node::note_answer() {
    why_down_.reset();
    // Which answer allows what is owed is found out with pauses.
    if (!rejects_) settle();
}

void node::want() {
    wanted_until_ = lease_clock::now() + interest;
    if (trying_ || closed_) return;
    trying_ = true;
    boost::asio::co_spawn(executor_, keep_trying(shared_from_this()), boost::asio::detached);
}

bool node::is_worth_trying() {
    if (closed_) return false;
    const bool owes = drop_late_commands() || settling_;
    if (is_down()) return owes || lease_clock::now() < wanted_until_;
    return rejects_ && owes;
}

// The connection itself waits for a server that is gone; the pauses are for one that rejects.
boost::asio::awaitable<void> node::keep_trying(std::shared_ptr<node> self) {
    std::string ping;
    redis::command_writer{ping, 1}.add("PING");
    net::backoff retries{base::fresh_seed()};
    while (self->is_worth_trying()) {
        if (self->is_down()) {
            const auto got = co_await self->link_->ask(ping);
            if (got.has_value() && !got->is_error()) {
                // What it rejected before it went down it may take now.
                self->rejects_ = false;
                self->note_answer();
                break;
            }
            if (got.has_error()) self->note_failure(got.error());
        }
        self->pause_->set(lease_clock::now() + retries.failed());
        co_await self->pause_->wait();
        if (!self->is_down()) self->settle();
    }
    self->trying_ = false;
}

// ---- Debts

void node::retry_later(redis::script_call call, instant until) {
    if (closed_) return;
    if (pending_.size() >= pending_max) pending_.pop_front();
    pending_.push_back({std::move(call), until});
    if (is_down() || rejects_)
        want();
    else
        settle();
}

// True if any command is left.
bool node::drop_late_commands() {
    const auto now = lease_clock::now();
    std::erase_if(pending_, [&](const pending_command& one) { return one.until <= now; });
    return !pending_.empty();
}

// One after the other, so that a node that comes back is not flooded.
void node::settle() {
    if (settling_ || closed_ || pending_.empty() || !drop_late_commands()) return;
    settling_ = true;
    auto next = std::make_shared<pending_command>(std::move(pending_.front()));
    pending_.pop_front();
    const auto deadline = lease_clock::now() + settings_->common.timeout;
    ask(next->call, deadline, [self = shared_from_this(), next](const node_answer& got) {
        self->settling_ = false;
        // One that cannot write for now is there, and is told later.
        self->rejects_ = got.has_error() && got.error().answered;
        if (got.has_value() || !(self->rejects_ || self->is_down())) {
            self->rejected_ = 0;
            return self->settle();
        }
        if (!self->rejects_) {
            self->pending_.push_front(std::move(*next));
            return self->want();
        }
        // Others may be taken all the same: a full server still deletes.
        self->pending_.push_back(std::move(*next));
        if (++self->rejected_ < std::min(self->pending_.size(), rejections_max))
            return self->settle();
        self->rejected_ = 0;
        self->want();
    });
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the callback has `next`
}

// ---- Ending

void node::close_from_anywhere() {
    link_->close_from_anywhere();
    subscriber_->close_from_anywhere();
    attachment_->post([self = shared_from_this()] {
        self->closed_ = true;
        self->pending_.clear();
        self->pause_->wake();
    });
}

void node::loop_ends() {
    closed_ = true;
    pause_.reset();
    pending_.clear();
}

}  // namespace pawl::redlock
