#include "schedule/execution/function_body.hpp"

#include "net/timer.hpp"
#include "runtime/bodies.hpp"
#include "runtime/link.hpp"

#include <exception>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// What the thread works on. It owns neither what is the loop's nor the threads, so that a thread
// may let go of it last.
struct piece_of_work {
    std::shared_ptr<const pawl::job> what;
    pawl::run now;
    std::exception_ptr thrown{};
    bool stopped = false;  // it had been told to, before it ended

    void perform() {
        const net::loop::body_scope here;
        try {
            what->body(now);
        } catch (...) {
            thrown = std::current_exception();
        }
        stopped = now.stop.stop_requested();
    }
};

class function_body final : public body, public std::enable_shared_from_this<function_body> {
public:
    function_body(std::shared_ptr<const function_context> around,
                  std::shared_ptr<const pawl::job> what)
        : around_{std::move(around)},
          what_{std::move(what)},
          ended_{around_->where.get_executor()} {}
    ~function_body() override { told_.request_stop(); }

    awaitable<work_result> run(run_order order) override {
        const auto self = shared_from_this();
        work_result how;
        if (told_.stop_requested()) {
            how.started = false;
            co_return how;
        }
        auto work = std::make_shared<piece_of_work>();
        work->what = what_;
        work->now = told_of(order);
        std::weak_ptr<function_body> weak = self;
        const auto perform = [work, weak, to_loop = around_->to_loop] {
            work->perform();
            to_loop->post([weak] {
                if (const auto who = weak.lock()) who->finish();
            });
        };
        try {
            around_->threads->submit_alone(perform);
        } catch (const std::system_error& error) {
            how.started = false;
            how.reason = std::string{"there is no thread for it: "} + error.what();
            co_return how;
        }
        while (!finished_) {
            auto waiting = ended_.wait_until(instant::max());
            co_await std::move(waiting);
        }
        how.succeeded = !work->thrown && !work->stopped;
        how.reason = runtime::reason_of(work->thrown);
        co_return how;
    }

    void extend(instant, instant) override {}
    void stop(stop_cause) override { told_.request_stop(); }
    void force_stop() override { told_.request_stop(); }

private:
    void finish() {
        finished_ = true;
        ended_.cancel();
    }

    pawl::run told_of(const run_order& order) const {
        pawl::run now{order.key, order.run_id, order.token, told_.get_token()};
        now.occurrence = order.occurrence;
        now.idempotency_key = order.idempotency_key;
        now.attempt = order.attempt;
        now.last_checkpoint = order.checkpoint;
        now.partition = order.partition;
        now.partition_count = order.partition_count;
        now.arguments = order.arguments;
        if (order.save_checkpoint)
            now.save_checkpoint = [way = around_->home,
                                   save = order.save_checkpoint](std::string_view text) {
                // A copy of it may outlive the run, and all of pawl.
                if (way->is_forked_child()) throw std::logic_error{net::opened_before_fork};
                const runtime::link::visit on{*way};
                return on ? on.loop().wait_for(save(std::string{text})).value() : false;
            };
        return now;
    }

    // Constant after construction
    const std::shared_ptr<const function_context> around_;
    const std::shared_ptr<const pawl::job> what_;
    struct request {
        std::stop_source whom;
        void operator()() { whom.request_stop(); }
    };

    std::stop_source told_;
    const std::stop_callback<request> on_ending_{around_->ending.get_token(), request{told_}};
    // State, on the loop
    net::timer ended_;
    bool finished_ = false;
};

}  // namespace

body_maker function_bodies(std::shared_ptr<const function_context> around,
                           std::shared_ptr<const pawl::job> what) {
    return [around, what](output_sink) { return std::make_shared<function_body>(around, what); };
}

}  // namespace pawl::schedule
