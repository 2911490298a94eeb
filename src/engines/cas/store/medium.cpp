#include "engines/cas/store/medium.hpp"

#include "net/for_each_bounded.hpp"

#include <pawl/errors.hpp>

namespace pawl::cas {
namespace {

constexpr std::size_t requests_at_once = 8;

// Of requests that their caller may leave, so it owns what they use.
template <class Request, class Answer>
struct parallel_requests {
    std::shared_ptr<medium> on;
    async<Answer> (medium::*ask)(Request, instant);
    std::vector<Request> requests;
    bool ends_with_an_outage = false;  // the others are of no use without this one
    std::vector<result<Answer>> answers = std::vector<result<Answer>>(
        requests.size(), failure{errc::unreachable, "the request was not begun"});
};

template <class All>
async<void> ask_one(std::shared_ptr<All> all, std::size_t index, instant until) {
    auto asking = (all->on.get()->*all->ask)(all->requests[index], until);
    auto& answer = all->answers[index] = co_await std::move(asking);
    const bool is_finished =
        all->ends_with_an_outage && answer.has_error() && may_pass(answer.error().code);
    if (is_finished) co_return answer.error();
    co_return result<void>{};
}

template <class All>
async<void> ask_all(std::shared_ptr<All> all, instant until) {
    net::bounded_step step = [all, until](std::size_t index) { return ask_one(all, index, until); };
    return net::for_each_bounded(all->requests.size(), requests_at_once, std::move(step));
}

}  // namespace

seen foreign_record() {
    seen stands;
    stands.at = "foreign";
    return stands;
}

async<std::vector<seen>> medium::read_many(std::vector<record_name> names, instant until) {
    const auto all = std::make_shared<parallel_requests<record_name, seen>>(
        shared_from_this(), &medium::read, std::move(names), true);
    auto reading = ask_all(all, until);
    const auto done = co_await std::move(reading);
    if (done.has_error()) co_return done.error();
    std::vector<seen> found;
    for (auto& answer : all->answers)
        found.push_back(answer.has_value() ? std::move(*answer) : foreign_record());
    co_return found;
}

async<std::vector<result<write_answer>>> medium::write_many(std::span<const change> changes,
                                                            instant until) {
    const auto all = std::make_shared<parallel_requests<change, write_answer>>(
        shared_from_this(), &medium::write, std::vector(changes.begin(), changes.end()));
    auto writing = ask_all(all, until);
    const auto done = co_await std::move(writing);
    // Called off: any of them may have been written.
    if (done.has_error()) co_return failure{errc::outcome_unknown, done.error().detail};
    co_return std::move(all->answers);
}

async<void> medium::watch(record_name, version) {
    co_return failure{errc::unsupported, "this store wakes no waiter"};
}

}  // namespace pawl::cas
