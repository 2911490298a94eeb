#include "engines/cas/store/medium.hpp"

#include "net/for_each_bounded.hpp"

namespace pawl::cas {
namespace {

constexpr std::size_t writes_at_once = 8;
constexpr std::size_t reads_at_once = 8;

// Of writes that their caller may leave, so it owns what they use.
struct parallel_writes {
    parallel_writes(std::shared_ptr<medium> on, std::span<const change> changes)
        : on{std::move(on)}, changes{changes.begin(), changes.end()} {
        answers.reserve(changes.size());
        for (std::size_t i = 0; i < changes.size(); ++i)
            answers.emplace_back(failure{errc::unreachable, "the write was not begun"});
    }

    std::shared_ptr<medium> on;
    std::vector<change> changes;
    std::vector<result<write_answer>> answers;
};

async<void> write_one(std::shared_ptr<parallel_writes> all, std::size_t index, instant until) {
    auto writing = all->on->write(all->changes[index], until);
    all->answers[index] = co_await std::move(writing);
    co_return result<void>{};
}

struct parallel_reads {
    parallel_reads(std::shared_ptr<medium> on, std::vector<record_name> names)
        : on{std::move(on)}, names{std::move(names)}, found(this->names.size()) {}

    std::shared_ptr<medium> on;
    std::vector<record_name> names;
    std::vector<seen> found;
};

async<void> read_one(std::shared_ptr<parallel_reads> all, std::size_t index, instant until) {
    auto reading = all->on->read(all->names[index], until);
    auto got = co_await std::move(reading);
    if (got.has_error()) co_return got.error();
    all->found[index] = std::move(*got);
    co_return result<void>{};
}

}  // namespace

async<std::vector<seen>> medium::read_many(std::vector<record_name> names, instant until) {
    const auto all = std::make_shared<parallel_reads>(shared_from_this(), std::move(names));
    net::bounded_step step = [all, until](std::size_t index) {
        return read_one(all, index, until);
    };
    auto reading = net::for_each_bounded(all->names.size(), reads_at_once, std::move(step));
    const auto done = co_await std::move(reading);
    if (done.has_error()) co_return done.error();
    co_return std::move(all->found);
}

async<std::vector<result<write_answer>>> medium::write_many(std::span<const change> changes,
                                                            instant until) {
    const auto all = std::make_shared<parallel_writes>(shared_from_this(), changes);
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
