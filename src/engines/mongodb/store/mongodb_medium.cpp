// One namespace of a collection, for the core.
#include "engines/mongodb/store/examination.hpp"
#include "engines/mongodb/store/mongodb_store.hpp"
#include "engines/mongodb/store/records.hpp"

#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace pawl::mongodb {
namespace {

using namespace std::chrono_literals;
using cas::write_answer;

// A new primary goes by its own clock.
constexpr int looks_for_collection = 5;
constexpr cas::micros skew_default = 1s;
constexpr std::size_t updates_max = 100;
// A write asks for the time where the last answer is older than this: until then the core's bounds
// drift apart by less than a stamp takes to come.
constexpr std::chrono::nanoseconds clock_ages_in = 5s;
constexpr std::int64_t duplicate_key = 11000;

// What a replica set answers a read with. A primary that was superseded and does not know it shows
// by `majority` what was: a write that goes by that is confirmed by no majority. What is decided
// without a write must not go by it.
enum class read_concern { majority, linearizable };

// A token that a fence has accepted before is accepted again without a write.
read_concern level_of(cas::record_kind kind) {
    return kind == cas::record_kind::fence ? read_concern::linearizable : read_concern::majority;
}

class medium final : public cas::medium {
public:
    medium(net::loop& where, const mongodb_settings& settings)
        : where_{where},
          name_space_{settings.common.name_space},
          collection_{settings.collection},
          place_{settings.place + "?collection=" + settings.collection},
          client_{where, {settings.uri, settings.database, place_, settings.common.timeout}} {}

    cas::medium_traits traits() const noexcept override {
        cas::medium_traits traits;
        traits.clock_step = 1ms;
        traits.skew = skew_default;
        traits.batch_max = updates_max;
        return traits;
    }
    std::string place() const override { return place_; }
    async<std::string> prepare(instant until) override;
    bool has_answered() const noexcept override { return client_.has_answered(); }
    async<cas::seen> read(cas::record_name name, instant until) override;
    async<std::vector<cas::seen>> read_many(std::vector<cas::record_name> names,
                                            instant until) override;
    async<write_answer> write(cas::change what, instant until) override;
    async<std::vector<result<write_answer>>> write_many(std::span<const cas::change> changes,
                                                        instant until) override;
    async<write_answer> erase(cas::record_name name, cas::version expected, instant until) override;
    async<cas::listing> list(cas::list_order what, instant until) override;
    async<examination> examine(instant until) override;

private:
    using rejections = std::map<std::int64_t, failure>;  // by the index of the write
    struct wrote {
        std::int64_t count = 0;
        bool is_duplicate = false;
        rejections rejected;
        std::optional<cas::stamp> clock;
    };

    document finding_of(const document& filter, std::size_t limit,
                        read_concern level = read_concern::majority) const;
    document updating(const std::vector<document>& updates, instant until) const;
    document with_concern(document command, instant until) const;
    millis::rep time_left(instant until) const;
    std::optional<cas::stamp> heard(const std::optional<greeting>& hello, instant asked);
    bool is_clock_old() const { return !heard_ || where_.now() - *heard_ > clock_ages_in; }

    async<std::vector<document>> find(document command, std::optional<cas::stamp>* clock,
                                      instant until);
    async<wrote> change_by(document command, instant until);
    async<std::optional<std::string>> look(instant until);
    async<std::string> create(instant until);
    async<std::vector<result<write_answer>>> tell_apart(std::vector<cas::change> changes, wrote got,
                                                        instant until);
    std::vector<document> updates_of(std::span<const cas::change> changes) const;
    failure foreign() const {
        return {errc::rejected, place_ + ": a document of the namespace is not a record of pawl"};
    }

    // Constant after construction
    net::loop& where_;
    const std::string name_space_;
    const std::string collection_;
    const std::string place_;
    // On the loop only
    client client_;
    deployment on_;
    std::optional<instant> heard_;  // when the last stamp was asked for
};

// No less than a millisecond: 0 is none to the server.
millis::rep medium::time_left(instant until) const {
    const auto left = std::chrono::ceil<millis>(until - where_.now());
    return std::clamp<millis::rep>(left.count(), 1, 600'000);
}

document medium::with_concern(document command, instant until) const {
    // What the server waits for no longer is not undone.
    document concern;
    concern.text("w", "majority").yes("j").number("wtimeout", time_left(until));
    return std::move(command.nested("writeConcern", concern));
}

document medium::finding_of(const document& filter, std::size_t limit, read_concern level) const {
    const auto most = static_cast<std::int32_t>(limit);
    document command;
    command.text("find", collection_).nested("filter", filter);
    command.nested("sort", document{}.small("_id", 1));
    command.small("limit", most).small("batchSize", most).yes("singleBatch");
    // One that stands alone has nothing that others have not; some do not know the word.
    if (on_.is == topology::replica_set)
        command.nested("readConcern",
                       document{}.text(
                           "level", level == read_concern::majority ? "majority" : "linearizable"));
    return command;
}

document medium::updating(const std::vector<document>& updates, instant until) const {
    document command;
    command.text("update", collection_).array("updates", updates).no("ordered");
    return with_concern(std::move(command), until);
}

std::optional<cas::stamp> medium::heard(const std::optional<greeting>& hello, instant asked) {
    if (!hello) return std::nullopt;
    const auto now = judge(place_, *hello);
    // The time of a server that writes go to, and no other.
    if (now.has_error()) return std::nullopt;
    heard_ = asked;
    return stamp_of(*hello);
}

async<std::vector<document>> medium::find(document command, std::optional<cas::stamp>* clock,
                                          instant until) {
    request what{std::move(command), effect::none};
    what.greets = clock != nullptr;
    const auto asked = where_.now();
    auto running = client_.run(std::move(what), until);
    auto got = co_await std::move(running);
    if (got.has_error()) co_return got.error();
    if (clock != nullptr && got->hello) {
        // What another server than the primary answers may have been true once.
        const auto by = judge(place_, *got->hello);
        if (by.has_error()) co_return by.error();
        *clock = heard(got->hello, asked);
    }
    if (!got->replies.front().has("cursor.firstBatch"))
        co_return failure{errc::protocol, place_ + ": a find without its documents"};
    co_return got->replies.front().find_all("cursor.firstBatch");
}

// What one command of writes did. A write that is not confirmed by a majority is not undone either.
async<medium::wrote> medium::change_by(document command, instant until) {
    request what{std::move(command), effect::writes};
    what.greets = is_clock_old();
    const auto asked = where_.now();
    auto running = client_.run(std::move(what), until);
    const auto got = co_await std::move(running);
    if (got.has_error()) co_return got.error();
    const auto& reply = got->replies.front();
    wrote made;
    made.clock = heard(got->hello, asked);
    made.count = reply.find_number("n").value_or(-1);
    for (const auto& one : reply.find_all("writeErrors")) {
        const auto code = one.find_number("code").value_or(0);
        if (code == duplicate_key)
            made.is_duplicate = true;
        else
            made.rejected.emplace(
                one.find_number("index").value_or(0),
                explain_rejection(place_,
                                  said_by_server(code, one.find_text("errmsg").value_or("")),
                                  effect::writes));
    }
    if (reply.has("writeConcernError") && (made.rejected.empty() || made.count > 0))
        co_return failure{
            errc::outcome_unknown,
            place_ + ": not confirmed by a majority: " +
                base::printable(reply.find_text("writeConcernError.errmsg").value_or("no words"))};
    if (made.count < 0)
        co_return failure{errc::outcome_unknown, place_ + ": a write without its count"};
    co_return made;
}

async<std::string> medium::prepare(instant until) {
    const auto self = shared_from_this();
    request what{effect::none};
    what.greets = true;
    auto greeting_them = client_.run(std::move(what), until);
    const auto met = co_await std::move(greeting_them);
    if (met.has_error()) co_return met.error();
    auto found = judge(place_, *met->hello);
    if (found.has_error()) co_return found.error();
    on_ = std::move(*found);
    auto looking = look(until);
    const auto there = co_await std::move(looking);
    if (there.has_error()) co_return there.error();
    if (*there) co_return **there;
    auto making = create(until);
    co_return co_await std::move(making);
}

// The identity of the collection, if there is one: another, where it was dropped and made again, or
// restored by mongorestore. Empty where the server, or what this user may see, does not tell it.
async<std::optional<std::string>> medium::look(instant until) {
    document command;
    command.small("listCollections", 1).nested("filter", document{}.text("name", collection_));
    request what{std::move(command), effect::none};
    auto running = client_.run(std::move(what), until);
    const auto got = co_await std::move(running);
    if (got.has_error()) {
        if (got.error().code == errc::denied) co_return std::optional{std::string{}};
        co_return got.error();
    }
    const auto found = got->replies.front().find_all("cursor.firstBatch");
    if (found.empty()) co_return std::optional<std::string>{};
    co_return std::optional{base::to_hex(found.front().find_binary("info.uuid").value_or(""))};
}

async<std::string> medium::create(instant until) {
    document creation;
    creation.text("create", collection_);
    request what{with_concern(std::move(creation), until), effect::writes};
    auto running = client_.run(std::move(what), until);
    const auto made = co_await std::move(running);
    // Another process may have been faster, or the answer may be lost. What another has just made
    // may be listed a little later.
    for (int looks = 0; looks < looks_for_collection; ++looks) {
        auto looking = look(until);
        auto there = co_await std::move(looking);
        if (there.has_error()) co_return there.error();
        if (*there) co_return std::move(**there);
    }
    if (made.has_error()) co_return made.error();
    co_return std::string{};
}

async<cas::seen> medium::read(cas::record_name name, instant until) {
    const auto self = shared_from_this();
    const auto level = level_of(name.kind);
    auto command = finding_of(document{}.text("_id", id_of(name_space_, name)), 1, level);
    // It waits for a majority, which may be gone.
    if (command.has("readConcern") && level == read_concern::linearizable)
        command.number("maxTimeMS", time_left(until));
    std::optional<cas::stamp> clock;
    auto finding_it = find(std::move(command), &clock, until);
    const auto found = co_await std::move(finding_it);
    if (found.has_error()) co_return found.error();
    cas::seen stands;
    if (!found->empty()) {
        auto record = read_record(found->front());
        if (!record) co_return foreign();
        stands = std::move(*record);
    }
    stands.clock = clock;
    co_return stands;
}

async<std::vector<cas::seen>> medium::read_many(std::vector<cas::record_name> names,
                                                instant until) {
    const auto self = shared_from_this();
    std::vector<cas::seen> all(names.size());
    if (names.empty()) co_return all;
    std::vector<std::string> ids;
    ids.reserve(names.size());
    for (const auto& name : names) ids.push_back(id_of(name_space_, name));
    document filter;
    filter.nested("_id", document{}.texts("$in", ids));
    std::optional<cas::stamp> clock;
    auto finding_them = find(finding_of(filter, ids.size()), &clock, until);
    const auto found = co_await std::move(finding_them);
    if (found.has_error()) co_return found.error();
    for (const auto& one : *found) {
        const auto record = read_record(one).value_or(cas::foreign_record());
        const auto id = one.find_text("_id");
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (id == ids[i]) all[i] = record;
    }
    for (auto& each : all) each.clock = clock;
    co_return all;
}

async<write_answer> medium::write(cas::change what, instant until) {
    const auto self = shared_from_this();
    const auto id = id_of(name_space_, what.name);
    // A clock of ours that stood still calls no answer old.
    if (what.asks_time) heard_.reset();
    document command;
    std::int64_t next = 0;
    if (what.expected.empty()) {
        next = fresh_revision();
        command.text("insert", collection_).array("documents", {new_record(id, what, next)});
        command = with_concern(std::move(command), until);
    } else {
        const auto expected = revision_of(what.expected);
        if (!expected) co_return write_answer{cas::conflict{}};
        next = *expected + 1;
        command = updating({update_of(id, what, *expected)}, until);
    }
    auto changing = change_by(std::move(command), until);
    const auto got = co_await std::move(changing);
    if (got.has_error()) co_return got.error();
    if (!got->rejected.empty()) co_return got->rejected.begin()->second;
    if (got->is_duplicate || got->count == 0)
        co_return write_answer{cas::conflict{std::nullopt, got->clock}};
    co_return write_answer{cas::written{version_of(next), got->clock}};
}

// Empty where one of them is no update.
std::vector<document> medium::updates_of(std::span<const cas::change> changes) const {
    std::vector<document> updates;
    for (const auto& one : changes) {
        const auto expected = revision_of(one.expected);
        if (!expected) return {};
        updates.push_back(update_of(id_of(name_space_, one.name), one, *expected));
    }
    return updates;
}

async<std::vector<result<write_answer>>> medium::write_many(std::span<const cas::change> changes,
                                                            instant until) {
    const auto self = shared_from_this();
    const auto updates = updates_of(changes);
    if (updates.size() < 2) {
        auto writing = cas::medium::write_many(changes, until);
        co_return co_await std::move(writing);
    }
    std::vector<cas::change> all{changes.begin(), changes.end()};
    if (std::any_of(all.begin(), all.end(), [](const auto& one) { return one.asks_time; }))
        heard_.reset();
    auto changing = change_by(updating(updates, until), until);
    auto got = co_await std::move(changing);
    if (got.has_error()) co_return got.error();
    // The answer only counts.
    if (got->count != static_cast<std::int64_t>(all.size())) {
        auto telling = tell_apart(std::move(all), std::move(*got), until);
        co_return co_await std::move(telling);
    }
    std::vector<result<write_answer>> answers;
    answers.reserve(all.size());
    for (const auto& one : all)
        answers.emplace_back(
            write_answer{cas::written{version_of(*revision_of(one.expected) + 1), got->clock}});
    co_return answers;
}

// Which of them were written: every text is of one write only.
async<std::vector<result<write_answer>>> medium::tell_apart(std::vector<cas::change> changes,
                                                            wrote got, instant until) {
    std::vector<std::string> ids;
    ids.reserve(changes.size());
    for (const auto& one : changes) ids.push_back(id_of(name_space_, one.name));
    document filter;
    filter.nested("_id", document{}.texts("$in", ids));
    auto finding_them = find(finding_of(filter, ids.size()), nullptr, until);
    const auto found = co_await std::move(finding_them);
    // They have been written, or not, long before.
    if (found.has_error()) co_return failure{errc::outcome_unknown, found.error().detail};
    std::vector<result<write_answer>> answers;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const auto stands = std::find_if(found->begin(), found->end(), [&](const document& one) {
            return one.find_text("_id") == ids[i];
        });
        auto record = stands == found->end() ? std::nullopt : read_record(*stands);
        const auto rejected = got.rejected.find(static_cast<std::int64_t>(i));
        if (record && record->text == changes[i].text)
            answers.emplace_back(write_answer{cas::written{record->at, got.clock}});
        else if (rejected != got.rejected.end())
            answers.emplace_back(std::move(rejected->second));
        else
            answers.emplace_back(write_answer{cas::conflict{std::move(record), got.clock}});
    }
    co_return answers;
}

async<write_answer> medium::erase(cas::record_name name, cas::version expected, instant until) {
    const auto self = shared_from_this();
    const auto revision = revision_of(expected);
    if (!revision) co_return write_answer{cas::conflict{}};
    document filter, one, command;
    filter.text("_id", id_of(name_space_, name)).number("rev", *revision);
    one.nested("q", filter).small("limit", 1);
    command.text("delete", collection_).array("deletes", {one});
    auto changing = change_by(with_concern(std::move(command), until), until);
    const auto got = co_await std::move(changing);
    if (got.has_error()) co_return got.error();
    if (!got->rejected.empty()) co_return got->rejected.begin()->second;
    if (got->count == 0) co_return write_answer{cas::conflict{std::nullopt, got->clock}};
    co_return write_answer{cas::written{{}, got->clock}};
}

async<cas::listing> medium::list(cas::list_order what, instant until) {
    const auto self = shared_from_this();
    std::optional<cas::stamp> clock;
    const auto ids = ids_between(name_space_, what.kind, what.prefix, what.after);
    auto finding_them = find(finding_of(ids, what.limit + 1), &clock, until);
    const auto found = co_await std::move(finding_them);
    if (found.has_error()) co_return found.error();
    cas::listing page;
    page.more = found->size() > what.limit;
    for (const auto& one : *found) {
        if (page.records.size() == what.limit) break;
        auto key = key_of(name_space_, what.kind, one.find_text("_id").value_or(""));
        if (!key) continue;
        auto record = read_record(one).value_or(cas::foreign_record());
        record.clock = clock;
        page.records.emplace_back(std::move(*key), std::move(record));
    }
    // There is no key behind which it continues.
    if (page.more && page.records.empty()) co_return foreign();
    co_return page;
}

async<examination> medium::examine(instant until) {
    const auto self = shared_from_this();
    // The first look finds no collection: it is made, as for any other verb.
    if (on_.is == topology::unknown) {
        auto preparing = prepare(until);
        const auto ready = co_await std::move(preparing);
        if (ready.has_error()) co_return ready.error();
    }
    examination made;
    made.fence_statement = "update with the filter {_id, rev} that was read, on " + place_;
    request asking_version{document{}.small("buildInfo", 1), effect::none};
    auto running = client_.run(std::move(asking_version), until);
    const auto built = co_await std::move(running);
    if (built.has_error()) co_return built.error();
    made.version =
        "MongoDB " + base::printable(built->replies.front().find_text("version").value_or("?"));
    made.findings.push_back(judge_durability(on_));
    made.findings.push_back(
        {severity::ok, "persistence",
         "every write waits for {w: majority, j: true}, whatever the URI says"});
    request looking{document{}.text("listIndexes", collection_), effect::none};
    auto listing_them = client_.run(std::move(looking), until);
    const auto indexes = co_await std::move(listing_them);
    if (indexes.has_error())
        made.findings.push_back(
            {severity::ok, "limits", "this user may not see whether an index deletes records"});
    else
        made.findings.push_back(
            judge_indexes(indexes->replies.front().find_all("cursor.firstBatch")));
    co_return made;
}

bool is_of_names(char letter) {
    return base::is_alphanumeric(letter) || letter == '_' || letter == '-';
}

}  // namespace

std::optional<std::string> database_fault(const std::string& name) {
    if (!name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), is_of_names))
        return std::nullopt;
    return "expected 1 to 63 letters, digits, '_' and '-'";
}

std::optional<std::string> collection_fault(const std::string& name) {
    const bool plain =
        std::all_of(name.begin(), name.end(), [](char c) { return is_of_names(c) || c == '.'; });
    const bool whole = !name.starts_with('.') && !name.ends_with('.') &&
                       name.find("..") == std::string::npos && !name.starts_with("system.");
    if (plain && whole && !name.empty() && name.size() <= 120) return std::nullopt;
    return "expected 1 to 120 letters, digits, '_', '-' and single dots between them, and no "
           "'system.' before";
}

std::shared_ptr<cas::medium> make_mongodb_medium(net::loop& where,
                                                 const mongodb_settings& settings) {
    return std::make_shared<medium>(where, settings);
}

std::shared_ptr<lease_store> make_mongodb_store(net::loop& where,
                                                const mongodb_settings& settings) {
    return cas::make_cas_store(where, {settings.common, settings.skew},
                               make_mongodb_medium(where, settings));
}

}  // namespace pawl::mongodb
