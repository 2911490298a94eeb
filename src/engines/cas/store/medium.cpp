#include "engines/cas/store/medium.hpp"

#include "net/for_each_bounded.hpp"

namespace pawl::cas {
namespace {

constexpr std::size_t writes_at_once = 8;
constexpr std::size_t reads_at_once = 8;

// Of requests that their caller may leave, so it owns what they use.
template <class Request, class Answer>
struct parallel_requests {
    parallel_requests(std::shared_ptr<medium> on, std::vector<Request> requests)
        : on{std::move(on)},
          requests{std::move(requests)},
          answers(this->requests.size(), failure{errc::unreachable, "the request was not begun"}) {}

    std::shared_ptr<medium> on;
    std::vector<Request> requests;
    std::vector<result<Answer>> answers;
};
using parallel_writes = parallel_requests<change, write_answer>;
using parallel_reads = parallel_requests<record_name, seen>;

async<void> write_one(std::shared_ptr<parallel_writes> all, std::size_t index, instant until) {
    auto writing = all->on->write(all->requests[index], until);
    all->answers[index] = co_await std::move(writing);
    co_return result<void>{};
}

async<void> read_one(std::shared_ptr<parallel_reads> all, std::size_t index, instant until) {
    auto reading = all->on->read(all->requests[index], until);
    all->answers[index] = co_await std::move(reading);
    if (all->answers[index].has_error()) co_return all->answers[index].error();
    co_return result<void>{};
}

}  // namespace

async<std::vector<seen>> medium::read_many(std::vector<record_name> names, instant until) {
    const auto all = std::make_shared<parallel_reads>(shared_from_this(), std::move(names));
    net::bounded_step step = [all, until](std::size_t index) {
        return read_one(all, index, until);
    };
    auto reading = net::for_each_bounded(all->requests.size(), reads_at_once, std::move(step));
    const auto done = co_await std::move(reading);
    if (done.has_error()) co_return done.error();
    std::vector<seen> found;
    for (auto& each : all->answers) found.push_back(std::move(*each));
    co_return found;
}

async<std::vector<result<write_answer>>> medium::write_many(std::span<const change> changes,
                                                            instant until) {
    const auto all = std::make_shared<parallel_writes>(
        shared_from_this(), std::vector<change>{changes.begin(), changes.end()});
    net::bounded_step step = [all, until](std::size_t index) {
        return write_one(all, index, until);
    };
    auto writing = net::for_each_bounded(changes.size(), writes_at_once, std::move(step));
    const auto done = co_await std::move(writing);
    // Called off: any of them may have been written.
    if (done.has_error()) co_return failure{errc::outcome_unknown, done.error().detail};
    co_return std::move(all->answers);
}

async<void> medium::watch(record_name, version) {
    co_return failure{errc::unsupported, "this store wakes no waiter"};
}

}  // namespace pawl::cas
