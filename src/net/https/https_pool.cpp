#include "net/https/https_pool.hpp"

#include "base/duration.hpp"
#include "net/attachment.hpp"
#include "net/event.hpp"
#include "net/https/exchange.hpp"
#include "net/unattended.hpp"
#include "time/http_date.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace pawl::net {
namespace {

// A watch, as its reader has it: the connection goes with it.
class open_line_reader final : public https_pool::lines {
public:
    open_line_reader(std::shared_ptr<connection> on, std::shared_ptr<exchange> what)
        : on_{std::move(on)}, what_{std::move(what)}, progress_{std::make_shared<progress>()} {}
    ~open_line_reader() override { on_->close(); }
    open_line_reader(const open_line_reader&) = delete;
    open_line_reader& operator=(const open_line_reader&) = delete;

    unsigned status() const noexcept override { return what_->reader.status(); }

    async<std::optional<std::string>> next(instant until) override;

private:
    // Of the coroutine that reads, which may outlive the reader.
    struct progress {
        std::optional<failure> why;
        bool reads = false;
        event came;
    };

    static boost::asio::awaitable<void> read(std::shared_ptr<connection> on,
                                             std::shared_ptr<exchange> what,
                                             std::shared_ptr<progress> how);
    std::optional<std::string> take_line();

    const std::shared_ptr<connection> on_;
    const std::shared_ptr<exchange> what_;
    const std::shared_ptr<progress> progress_;
    std::string unread_;
    std::size_t searched_ = 0;  // of it: no line ends there
};

std::optional<std::string> open_line_reader::take_line() {
    unread_ += what_->reader.take_body();
    const auto end = unread_.find('\n', searched_);
    if (end == std::string::npos) {
        searched_ = unread_.size();
        if (!what_->reader.is_whole() || unread_.empty()) return std::nullopt;
        return std::exchange(unread_, std::string{});
    }
    auto line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    searched_ = 0;
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

boost::asio::awaitable<void> open_line_reader::read(std::shared_ptr<connection> on,
                                                    std::shared_ptr<exchange> what,
                                                    std::shared_ptr<progress> how) {
    auto receiving = receive(on, what);
    how->why = co_await std::move(receiving);
    how->reads = false;
    how->came.notify_all();
}

async<std::optional<std::string>> open_line_reader::next(instant until) {
    const auto& plan = *on_->plan;
    for (;;) {
        if (auto line = take_line()) co_return line;
        if (progress_->why) co_return *progress_->why;
        if (what_->reader.is_whole()) co_return std::optional<std::string>{};
        if (unread_.size() > plan.settings.body_max) {
            on_->close();
            co_return explain(plan, *what_, errc::protocol, "a line of the answer is too long");
        }
        if (!std::exchange(progress_->reads, true))
            boost::asio::co_spawn(plan.where.get_executor(), read(on_, what_, progress_),
                                  unattended{});
        // It may have ended already.
        if (!progress_->reads) continue;
        const auto how = progress_;
        auto waiting = how->came.wait_until(until);
        if (!co_await std::move(waiting))
            co_return failure{errc::unreachable, plan.place + ": no line came in time"};
    }
}

class kept_connections final : public https_pool, public attached {
public:
    kept_connections(loop& where, https_settings settings)
        : plan_{plan_connections(where, std::move(settings))} {}
    // A watch may outlive its pool, and then its loop too.
    ~kept_connections() override {
        close();
        loop_ends();
    }
    kept_connections(const kept_connections&) = delete;
    kept_connections& operator=(const kept_connections&) = delete;

    async<https_response> ask(https_request request, instant until) override;
    async<std::shared_ptr<lines>> open_lines(https_request request, instant until) override;
    std::optional<finding> examine_tls() const override { return plan_->certificate; }
    void close() noexcept override;
    void loop_ends() override;

private:
    // The right to have one of connections_max; part of the frame of a request.
    class slot {
    public:
        explicit slot(kept_connections& of) : of_{of} {}
        ~slot() { of_.pass_slot_on(); }
        slot(const slot&) = delete;
        slot& operator=(const slot&) = delete;

    private:
        kept_connections& of_;
    };
    // Where a request waits for such a right; part of its frame.
    struct queue_waiter {
        explicit queue_waiter(std::deque<queue_waiter*>& all) : line{all} { line.push_back(this); }
        ~queue_waiter() { std::erase(line, this); }
        queue_waiter(const queue_waiter&) = delete;
        queue_waiter& operator=(const queue_waiter&) = delete;
        std::deque<queue_waiter*>& line;
        bool has_slot = false;
        event woken;
    };

    // Ends well with a slot, which is to be passed on.
    async<void> take_slot(instant until);
    void pass_slot_on();
    std::shared_ptr<connection> fresh();
    std::shared_ptr<connection> reusable();
    async<void> finish(std::shared_ptr<connection> over, std::shared_ptr<exchange> what,
                       instant until);

    const std::shared_ptr<connection_plan> plan_;
    // On the loop only
    std::vector<std::shared_ptr<connection>> idle_;  // the newest last
    std::vector<std::weak_ptr<connection>> all_;
    std::size_t taken_ = 0;
    std::deque<queue_waiter*> line_;
    bool closed_ = false;
};

// ---- Slots

async<void> kept_connections::take_slot(instant until) {
    if (closed_) co_return failure{errc::unreachable, plan_->place + ": the store is closed"};
    if (taken_ < plan_->settings.connections_max) {
        ++taken_;
        co_return result<void>{};
    }
    queue_waiter mine{line_};
    auto waiting = mine.woken.wait_until(until);
    co_await std::move(waiting);
    if (mine.has_slot) co_return result<void>{};
    const auto why = closed_ ? std::string{": the store is closed"}
                             : ": all " + std::to_string(plan_->settings.connections_max) +
                                   " connections were busy";
    co_return failure{errc::unreachable, plan_->place + why};
}

void kept_connections::pass_slot_on() {
    if (line_.empty() || closed_) {
        --taken_;
        return;
    }
    auto& next = *line_.front();
    line_.pop_front();
    next.has_slot = true;
    next.woken.set();
}

// ---- Connections

std::shared_ptr<connection> kept_connections::fresh() {
    auto made = std::make_shared<connection>(plan_);
    std::erase_if(all_, [](const auto& old) { return old.expired(); });
    all_.push_back(made);
    return made;
}

// The newest that its peer still keeps; null where there is none.
std::shared_ptr<connection> kept_connections::reusable() {
    const auto oldest = plan_->where.now() - plan_->settings.idle_max;
    while (!idle_.empty()) {
        auto last = std::move(idle_.back());
        idle_.pop_back();
        if (last->idle_since > oldest && last->stream && last->stream->is_quiet()) return last;
        last->close();
    }
    return nullptr;
}

// Ends when the exchange is over, or its time is.
async<void> kept_connections::finish(std::shared_ptr<connection> over,
                                     std::shared_ptr<exchange> what, instant until) {
    const auto begun = plan_->where.now();
    boost::asio::co_spawn(plan_->where.get_executor(), carry(over, what), unattended{});
    auto waiting = what->over.wait_until(until);
    const bool ended = co_await std::move(waiting);
    if (ended && !what->why) co_return result<void>{};
    over->close();
    if (what->why) co_return *what->why;
    const auto waited = std::chrono::round<millis>(plan_->where.now() - begun);
    co_return explain(*plan_, *what, errc::unreachable,
                      "no answer within " + base::format_duration(waited));
}

async<https_response> kept_connections::ask(https_request request, instant until) {
    const auto self = shared_from_this();
    const bool has_no_body = request.method == "HEAD";
    const bool only_reads = request.only_reads || request.method == "GET" || has_no_body;
    const auto text = text_of_request(*plan_, request);
    if (text.has_error()) co_return text.error();
    auto queueing = take_slot(until);
    const auto taken = co_await std::move(queueing);
    if (taken.has_error()) co_return taken.error();
    const slot mine{*this};
    for (bool again = false;; again = true) {
        auto over = again ? nullptr : reusable();
        const bool was_idle = over != nullptr;
        if (!over) over = fresh();
        auto what = std::make_shared<exchange>(
            has_no_body ? answer_shape::headless : answer_shape::bounded, plan_->settings.body_max);
        what->text = *text;
        what->only_reads = only_reads;
        auto finishing = finish(over, what, until);
        const auto done = co_await std::move(finishing);
        if (done.has_error()) {
            const bool crossed = was_idle && what->why && !what->reader.has_begun() && only_reads &&
                                 done.error().code == errc::unreachable && !closed_;
            if (crossed) continue;
            co_return done.error();
        }
        https_response answer;
        answer.status = what->reader.status();
        answer.fields = what->reader.fields();
        answer.body = what->reader.take_body();
        answer.asked = what->asked;
        answer.answered = what->answered;
        answer.date = time::parse_http_date(answer.field("date"));
        if (what->reader.keeps_connection() && !closed_) {
            over->idle_since = what->answered;
            idle_.push_back(std::move(over));
        } else {
            over->close();
        }
        co_return answer;
    }
}

async<std::shared_ptr<https_pool::lines>> kept_connections::open_lines(https_request request,
                                                                       instant until) {
    const auto self = shared_from_this();
    const auto text = text_of_request(*plan_, request);
    if (text.has_error()) co_return text.error();
    if (closed_) co_return failure{errc::unreachable, plan_->place + ": the store is closed"};
    auto over = fresh();
    auto what = std::make_shared<exchange>(answer_shape::endless, plan_->settings.body_max);
    what->text = *text;
    what->only_reads = true;
    auto finishing = finish(over, what, until);
    const auto done = co_await std::move(finishing);
    if (done.has_error()) co_return done.error();
    std::shared_ptr<lines> opened = std::make_shared<open_line_reader>(std::move(over), what);
    co_return opened;
}

void kept_connections::close() noexcept {
    closed_ = true;
    idle_.clear();
    for (const auto& each : all_)
        if (const auto alive = each.lock()) alive->close();
    for (auto* each : line_) each->woken.set();
}

// What does I/O must not outlive the loop.
void kept_connections::loop_ends() {
    closed_ = true;
    idle_.clear();
    for (const auto& each : all_)
        if (const auto alive = each.lock()) alive->stream.reset();
}

}  // namespace

std::string_view https_response::field(std::string_view name) const noexcept {
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& one) { return one.first == name; });
    return found == fields.end() ? std::string_view{} : found->second;
}

std::shared_ptr<https_pool> https_pool::make(loop& where, https_settings settings) {
    auto own = attach(where.get_executor());
    std::shared_ptr<kept_connections> made{new kept_connections{where, std::move(settings)},
                                           deleted_on_loop{std::move(own)}};
    attach(where.get_executor(), made);
    return made;
}

}  // namespace pawl::net
