// Records as a journal uses them: one of them is what a verb's answer rests on, and is written by
// compare-and-swap; those that it names are written before.
//
// So a verb that ends in between has written what nothing refers to, which changes no answer: such
// a failure is `unreachable`. Only a write of the one record without an answer is in doubt.
#pragma once

#include "engines/cas/store/name_space.hpp"
#include "engines/cas/store/versioned_records.hpp"

#include <pawl/spi/store_settings.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::cas {

// What stood where, for a write that is made only if it stands there still.
using place_and_version = std::pair<std::string, version>;

// On the loop only.
class journal_records : public std::enable_shared_from_this<journal_records> {
public:
    journal_records(net::loop& where, const store_settings& settings, std::shared_ptr<medium> on);

    instant now() const { return versioned_records_->now(); }
    instant deadline() const { return versioned_records_->now() + timeout_; }
    std::size_t batch_max() const { return versioned_records_->traits().batch_max; }
    // How far apart two readings of the store's clock may be that were taken at one time.
    millis blur() const;

    // The medium is there, and keeps its conditions. The deadline of the verb that asks.
    async<instant> ready() { return space_->ready(); }

    // The journal's clock, in Unix milliseconds, as far as it has certainly come; and where it may
    // be. It is the store's.
    result<std::int64_t> time() const;
    result<std::int64_t> latest_time() const;
    // Rises with time, and with every call.
    result<std::uint64_t> fresh_number();
    // When such a number was made, in Unix milliseconds.
    static std::int64_t time_of(std::uint64_t number) noexcept;
    std::string fresh_nonce() { return versioned_records_->fresh_nonce(); }

    async<seen> read(std::string key, instant until);
    // Any number of them, each in its place.
    async<std::vector<seen>> read_many(std::vector<std::string> keys, instant until);
    async<listing> list(std::string prefix, std::string after, std::size_t limit, instant until);
    // All that begin with the prefix.
    async<std::vector<std::pair<std::string, seen>>> list_all(std::string prefix, instant until);

    // Writes it where there is no record. False: there is one. `text` has a nonce of its own.
    async<bool> create(std::string key, std::string text, instant until);
    // Writes it whatever stands there.
    async<void> put(std::string key, std::function<std::string(std::string nonce)> text,
                    instant until);
    // Deletes what stands there if it is wanted. False: there is nothing that is.
    async<bool> remove(std::string key, std::function<result<bool>(const seen&)> unwanted,
                       instant until);
    // The same for one version of it, and as well as can be: nothing rests on it. Whether none of
    // these stands there any more.
    boost::asio::awaitable<bool> tidy(std::vector<place_and_version> gone, instant until);
    boost::asio::awaitable<bool> tidy(std::string key, instant until);

    // Decides, and writes what was decided if what stands there is the same still, as often as it
    // takes until the deadline. On `known` only a decision to write is taken without another look.
    template <class T>
    async<T> amend(std::string key, std::optional<seen> known, instant until,
                   decide_step<T> decide);
    async<std::vector<result<write_answer>>> write_many(std::vector<change> changes, instant until);

    boost::asio::awaitable<void> back_off(int conflicts) {
        return versioned_records_->back_off(conflicts);
    }

    // What was written or seen here last under this key; without a text where only its version was
    // of use.
    std::optional<seen> recall(const std::string& key) const;
    // The same with its text, or nothing: for what is decided by it.
    std::optional<seen> recall_text(const std::string& key) const;
    void remember(const std::string& key, seen what);
    void forget(const std::string& key) { known_.erase(key); }

    // Of a record that cannot be read.
    failure unreadable(const std::string& key, const failure& why) const {
        return versioned_records_->unreadable(key, why);
    }
    failure too_slow() const;

private:
    // Constant after construction
    const millis timeout_;
    const std::shared_ptr<versioned_records> versioned_records_;
    const std::shared_ptr<name_space> space_;

    // On the loop only
    std::unordered_map<std::string, seen> known_;
    std::uint64_t last_number_ = 0;
};

template <class T>
async<T> journal_records::amend(std::string key, std::optional<seen> known, instant until,
                                decide_step<T> decide) {
    const auto self = shared_from_this();
    record_name name{record_kind::journal, key};
    decide_step<T> step = [&](const seen& stands, std::string nonce) -> async<decision<T>> {
        auto deciding = decide(stands, std::move(nonce));
        auto decided = co_await std::move(deciding);
        // What it may have written, nothing refers to.
        if (decided.has_error() && decided.error().code == errc::outcome_unknown)
            co_return failure{errc::unreachable, decided.error().detail};
        if (decided.has_value() && decided->text) forget(key);
        co_return decided;
    };
    auto wrote = [&](change what, const version& at) {
        seen mine;
        mine.text = std::move(what.text);
        mine.at = at;
        remember(key, std::move(mine));
    };
    auto amending =
        versioned_records_->amend(std::move(name), std::move(known), until, std::move(step), wrote);
    co_return co_await std::move(amending);
}

}  // namespace pawl::cas
