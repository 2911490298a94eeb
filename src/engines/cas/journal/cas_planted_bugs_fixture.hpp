// Bugs under a journal: media that are honest but for one thing, which takes one of the journal's
// own protections away, as if its code had been written so.
#pragma once

#include "engines/cas/journal/cas_journal_fixture.hpp"
#include "engines/cas/journal/journal_keys.hpp"
#include "engines/cas/journal/journal_text.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::cas {

// Does all as it should.
class honest_medium : public medium {
public:
    honest_medium(net::loop& where, std::shared_ptr<record_table> table)
        : table_{table}, under_{testing_media::make_memory_medium(where, std::move(table))} {}

    medium_traits traits() const noexcept override { return under_->traits(); }
    std::string place() const override { return under_->place(); }
    async<std::string> prepare(instant until) override { return under_->prepare(until); }
    async<seen> read(record_name name, instant until) override {
        return under_->read(std::move(name), until);
    }
    async<write_answer> write(change what, instant until) override {
        return under_->write(std::move(what), until);
    }
    async<write_answer> erase(record_name name, version expected, instant until) override {
        return under_->erase(std::move(name), std::move(expected), until);
    }
    async<listing> list(list_order what, instant until) override {
        return under_->list(std::move(what), until);
    }
    async<examination> examine(instant until) override { return under_->examine(until); }

protected:
    seen standing(const record_name& name) const { return table_->read(name); }
    bool is_there(const std::string& key) const {
        return !standing({record_kind::journal, key}).at.empty();
    }
    std::vector<std::pair<std::string, seen>> all(const std::string& prefix) const {
        return table_->list(record_kind::journal, prefix, "", 1000).records;
    }

private:
    const std::shared_ptr<record_table> table_;
    const std::shared_ptr<medium> under_;
};

using prefixes = std::vector<std::string_view>;

inline bool begins_with_one(const std::string& key, const prefixes& all) {
    return std::any_of(all.begin(), all.end(),
                       [&](std::string_view each) { return key.starts_with(each); });
}
inline bool is_truth(std::string_view text) { return text.starts_with("1 run "); }
inline bool is_written(const result<write_answer>& got) {
    return got.has_value() && std::holds_alternative<written>(*got);
}

// What leads to a run, or what it refers to, is written behind the run.
class run_first : public honest_medium {
public:
    run_first(net::loop& where, std::shared_ptr<record_table> table, prefixes late)
        : honest_medium{where, std::move(table)}, late_{std::move(late)} {}

    async<write_answer> write(change what, instant until) override {
        const auto entry = parse_index_entry(what.text);
        const bool is_behind = entry.has_value() && is_there(entry->key);
        if (begins_with_one(what.name.key, late_) && !is_behind) {
            kept_.push_back(std::move(what));
            co_return written{"not yet", std::nullopt};
        }
        const bool is_last = is_truth(what.text);
        auto writing = honest_medium::write(std::move(what), until);
        auto got = co_await std::move(writing);
        if (!is_last || !is_written(got)) co_return got;
        for (auto& each : std::exchange(kept_, {})) {
            auto adding = honest_medium::write(std::move(each), until);
            const auto added = co_await std::move(adding);
            if (added.has_error()) co_return added.error();
        }
        co_return got;
    }
    async<write_answer> erase(record_name name, version expected, instant until) override {
        const auto is_it = [&](const change& each) { return each.name.key == name.key; };
        if (std::erase_if(kept_, is_it) == 1) co_return written{{}, std::nullopt};
        if (expected == "not yet") expected = standing(name).at;
        auto erasing = honest_medium::erase(std::move(name), std::move(expected), until);
        co_return co_await std::move(erasing);
    }

private:
    const prefixes late_;
    std::vector<change> kept_;
};

// A trigger is taken away, and then the run that answers it is written.
class trigger_first : public honest_medium {
public:
    using honest_medium::honest_medium;

    async<write_answer> write(change what, instant until) override {
        const auto stands = standing(what.name);
        if (is_truth(what.text) && stands.text.starts_with("1 trigger ") &&
            stands.at == what.expected) {
            auto erasing = erase(what.name, std::exchange(what.expected, {}), until);
            auto erased = co_await std::move(erasing);
            if (!is_written(erased)) co_return erased;
        }
        auto writing = honest_medium::write(std::move(what), until);
        co_return co_await std::move(writing);
    }
};

// The entries of a run that is pruned go before what they lead to.
class entries_first : public honest_medium {
public:
    using honest_medium::honest_medium;

    async<write_answer> erase(record_name name, version expected, instant until) override {
        constexpr std::string_view part{"part/"};
        const auto number = name.key.starts_with(part) ? name.key.substr(part.size(), 16) : "none";
        for (auto& [key, stands] : all("runs")) {
            const auto entry = parse_index_entry(stands.text);
            if (!keys::parts(entry.value().number).starts_with(std::string{part} + number))
                continue;
            auto going = honest_medium::erase({record_kind::journal, key}, stands.at, until);
            auto gone = co_await std::move(going);
            if (gone.has_error()) co_return gone;
        }
        auto erasing = honest_medium::erase(std::move(name), std::move(expected), until);
        co_return co_await std::move(erasing);
    }
};

// A process removes what it has written or what its own removals have left, and nothing else.
class no_repair : public honest_medium {
public:
    using honest_medium::honest_medium;

    async<write_answer> write(change what, instant until) override {
        own_.insert(what.name.key);
        return honest_medium::write(std::move(what), until);
    }
    async<write_answer> erase(record_name name, version expected, instant until) override {
        const auto stands = standing(name);
        if (is_truth(stands.text)) own_.insert(name.key);
        const auto entry = parse_index_entry(stands.text);
        const bool is_repair = entry.has_value() && !is_there(entry->key) &&
                               !own_.contains(name.key) && !own_.contains(entry->key);
        if (is_repair) co_return written{{}, std::nullopt};
        auto erasing = honest_medium::erase(std::move(name), std::move(expected), until);
        co_return co_await std::move(erasing);
    }

private:
    std::set<std::string> own_;
};

// A write without an answer is not known again when it is read.
class own_write_unknown : public honest_medium {
public:
    using honest_medium::honest_medium;

    async<seen> read(record_name name, instant until) override {
        auto reading = honest_medium::read(std::move(name), until);
        auto got = co_await std::move(reading);
        if (got.has_error() || !is_truth(got->text)) co_return got;
        const auto nonce = nonce_of(got->text);
        got->text.replace(static_cast<std::size_t>(nonce.data() - got->text.data()), nonce.size(),
                          "another");
        co_return got;
    }
};

// Writes whatever stands there.
class blind_put : public honest_medium {
public:
    blind_put(net::loop& where, std::shared_ptr<record_table> table, prefixes where_so)
        : honest_medium{where, std::move(table)}, where_so_{std::move(where_so)} {}

    async<write_answer> write(change what, instant until) override {
        for (;;) {
            auto writing = honest_medium::write(what, until);
            auto got = co_await std::move(writing);
            const bool is_conflict = got.has_value() && std::holds_alternative<conflict>(*got);
            if (!is_conflict || !begins_with_one(what.name.key, where_so_)) co_return got;
            what.expected = standing(what.name).at;
        }
    }

private:
    const prefixes where_so_;
};

// Deletes whatever stands there.
class blind_erase : public honest_medium {
public:
    using honest_medium::honest_medium;

    async<write_answer> erase(record_name name, version expected, instant until) override {
        for (;;) {
            auto erasing = honest_medium::erase(name, expected, until);
            auto got = co_await std::move(erasing);
            expected = standing(name).at;
            const bool is_conflict = got.has_value() && std::holds_alternative<conflict>(*got);
            if (!is_conflict || expected.empty()) co_return got;
        }
    }
};

// What a run is about to save holds at once, and not from when its truth says so.
class offer_holds_at_once : public honest_medium {
public:
    using honest_medium::honest_medium;

    async<write_answer> write(change what, instant until) override {
        if (what.name.key.starts_with("saved/")) {
            auto saved = parse_saved({what.text, "any", std::nullopt}).value();
            saved.ref.clear();
            what.text = encode(saved, nonce_of(what.text));
        }
        return honest_medium::write(std::move(what), until);
    }
};

// A truth in which nothing changes is not written, so that its version stays.
class no_touch : public honest_medium {
public:
    using honest_medium::honest_medium;

    async<write_answer> write(change what, instant until) override {
        const auto body = [](const std::string& text) { return text.substr(text.find('{')); };
        const auto stands = standing(what.name);
        if (is_truth(what.text) && is_truth(stands.text) && stands.at == what.expected &&
            body(stands.text) == body(what.text))
            co_return written{stands.at, std::nullopt};
        auto writing = honest_medium::write(std::move(what), until);
        co_return co_await std::move(writing);
    }
};

// What is written under these is lost, though the answer is that it was written.
class lost_writes : public honest_medium {
public:
    lost_writes(net::loop& where, std::shared_ptr<record_table> table, prefixes lost)
        : honest_medium{where, std::move(table)}, lost_{std::move(lost)} {}

    async<write_answer> write(change what, instant until) override {
        if (begins_with_one(what.name.key, lost_)) co_return written{"lost", std::nullopt};
        auto writing = honest_medium::write(std::move(what), until);
        co_return co_await std::move(writing);
    }

private:
    const prefixes lost_;
};

}  // namespace pawl::cas
