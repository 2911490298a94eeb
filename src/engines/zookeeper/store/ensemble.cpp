#include "engines/zookeeper/store/ensemble.hpp"

#include "base/number.hpp"

#include <algorithm>

namespace pawl::zookeeper {
namespace {

// In the namespace's own znode: the layout, and since when the data has been whole, where that is
// later than when the znode was made.
constexpr std::string_view layout_text = "pawl 2";
constexpr std::string_view layout_before = "pawl 1";

// What a session is opened with when no lease asks for more.
constexpr millis plain_ttl{10'000};

// Others may be making the same at the same time; each round one of them gets on.
constexpr int rounds_max = 8;

// Empty: not of this layout.
std::optional<std::int64_t> birth_in(std::string_view text, std::int64_t created) {
    if (text == layout_text) return created;
    if (!text.starts_with(layout_text) || text[layout_text.size()] != ' ') return std::nullopt;
    text.remove_prefix(layout_text.size() + 1);
    return base::parse_number<std::int64_t>(text);
}

// Few classes, so that leases of about the same length share a session: 4, 6, 8, 12, 16 s, …
millis class_of(millis least) {
    millis power{4000};
    while (power < least) {
        if (power * 3 / 2 >= least) return power * 3 / 2;
        power *= 2;
    }
    return power;
}

}  // namespace

ensemble::ensemble(net::loop& where, std::shared_ptr<const zookeeper_settings> settings)
    : loop_{where},
      settings_{std::move(settings)},
      place_{place_of(*settings_)},
      paths_{settings_->chroot, settings_->common.name_space} {}

ensemble::~ensemble() {
    for (const auto& one : sessions_) one->close_from_anywhere();
}

// ---- Sessions

std::shared_ptr<session> ensemble::find(millis least) {
    std::erase_if(sessions_, [](const auto& one) { return one->is_dead(); });
    const auto wanted = class_of(least);
    for (const auto& one : sessions_) {
        const bool capped =
            one->granted_timeout().count() > 0 && one->granted_timeout() < one->asked_timeout();
        if (one->asked_timeout() == wanted || (capped && one->asked_timeout() < wanted)) return one;
    }
    sessions_.push_back(session::make(loop_, settings_, wanted));
    return sessions_.back();
}

std::shared_ptr<session> ensemble::session_with(std::int64_t id) const {
    for (const auto& one : sessions_)
        if (one->id() == id && !one->is_dead()) return one;
    return nullptr;
}

async<std::shared_ptr<session>> ensemble::session_for(millis ttl, instant until,
                                                      store_down unconnected) {
    auto one = find(least_timeout(ttl));
    co_return co_await prepared(std::move(one), until, unconnected);
}

async<std::shared_ptr<session>> ensemble::any_session(instant until) {
    std::shared_ptr<session> one;
    for (const auto& each : sessions_)
        if (!each->is_dead() && (!one || (each->is_connected() && !one->is_connected())))
            one = each;
    if (!one) one = find(least_timeout(plain_ttl));
    co_return co_await prepared(std::move(one), until);
}

async<std::shared_ptr<session>> ensemble::prepared(std::shared_ptr<session> one, instant until,
                                                   store_down unconnected) {
    if (one->is_connected())
        for (const auto& each : prepared_)
            if (each.lock() == one) co_return one;
    const auto stands = co_await one->ready(until, unconnected);
    if (stands.has_error()) co_return stands.error();
    for (const auto& each : prepared_)
        if (each.lock() == one) co_return one;
    const auto done = co_await prepare(*one, until);
    if (done.has_error()) co_return done.error();
    std::erase_if(prepared_, [](const auto& each) { return each.expired(); });
    prepared_.push_back(one);
    co_return one;
}

// ---- The namespace

async<bool> ensemble::prepare(session& through, instant until) {
    for (int attempt = 0; attempt < rounds_max; ++attempt) {
        request ask{request::kind::get, paths_.root()};
        const auto root = co_await through.ask(std::move(ask), until);
        if (root.has_error()) co_return root.error();
        if (!root->done()) {
            const auto made = co_await create_root(through, until);
            if (made.has_error()) co_return made.error();
            continue;
        }
        const auto born = birth_in(root->text, root->stat.created);
        if (!born && root->text != layout_before)
            co_return failure{root->text.starts_with("pawl ") ? errc::unsupported : errc::rejected,
                              place_ + ": " + paths_.root() +
                                  (root->text.starts_with("pawl ")
                                       ? " was made by a newer pawl"
                                       : " is not pawl's: choose another namespace=")};
        // The first time, or the data is another's than before.
        if (created_ != root->stat.created || created_zxid_ != root->stat.created_zxid) {
            ++generation_;
            newest_zxid_ = 0;
        }
        created_ = root->stat.created;
        created_zxid_ = root->stat.created_zxid;
        born_ = born.value_or(created_);
        floor_ = token_at(root->stat.modified_zxid);
        const auto back = co_await has_gone_back(through, until);
        if (back.has_error()) co_return back.error();
        if (born && !*back) co_return true;
        // Another layout than before; or what was granted since a backup was made is forgotten.
        auto text = std::string{layout_text};
        if (*back) text += " " + std::to_string(clock_);
        request write{request::kind::set, paths_.root(), std::move(text), root->stat.version};
        const auto written = co_await through.ask(std::move(write), until);
        // A client that may only read sees it as it is.
        if (written.has_error() && written.error().code == errc::denied) co_return true;
        if (written.has_error()) co_return written.error();
        ++generation_;
    }
    co_return failure{errc::unreachable, place_ + ": " + paths_.root() + " comes and goes"};
}

// Whether this is the tree that we have written to, but of an earlier time, and no client has said
// so yet: a backup of it.
async<bool> ensemble::has_gone_back(session& through, instant until) {
    const auto before = newest_zxid_;
    const bool is_known = born_ > clock_;
    if (before == 0) co_return false;
    request ask{request::kind::set, paths_.clock()};
    const auto written = co_await through.ask(std::move(ask), until);
    if (written.has_error() && written.error().code == errc::denied) co_return false;
    if (written.has_error()) co_return written.error();
    if (!written->done()) co_return false;
    const bool back = written->stat.modified_zxid <= before;
    if (back) {
        newest_zxid_ = 0;
        ++generation_;
    }
    note_clock(written->stat);
    co_return back && !is_known;
}

async<bool> ensemble::create_root(session& through, instant until) {
    for (std::size_t at = 1; at < paths_.root().size();) {
        const auto slash = paths_.root().find('/', at);
        if (slash == std::string::npos) break;
        request ask{request::kind::create, paths_.root().substr(0, slash)};
        const auto made = co_await through.ask(std::move(ask), until);
        if (made.has_error()) co_return made.error();
        at = slash + 1;
    }
    using kind = operation::kind;
    std::vector<operation> steps;
    steps.emplace_back(kind::create, paths_.root(), std::string{layout_text});
    steps.emplace_back(kind::create, paths_.locks());
    steps.emplace_back(kind::create, paths_.fences());
    steps.emplace_back(kind::create, paths_.clock());
    request ask{std::move(steps)};
    const auto made = co_await through.ask(std::move(ask), until);
    if (made.has_error()) co_return made.error();
    // Another client may have been faster.
    co_return true;
}

async<bool> ensemble::make_parent(session& through, const std::string& path, instant until) {
    const auto parent = parent_of(path);
    request ask{request::kind::create, parent};
    const auto made = co_await through.ask(std::move(ask), until);
    if (made.has_error()) co_return made.error();
    if (made->code != finding_code::no_node) co_return true;
    // The whole namespace is gone: it was removed.
    const auto again = co_await prepare(through, until);
    if (again.has_error()) co_return again.error();
    request once_more{request::kind::create, parent};
    const auto second = co_await through.ask(std::move(once_more), until);
    if (second.has_error()) co_return second.error();
    co_return true;
}

// ---- The clock

async<std::int64_t> ensemble::read_clock(session& through, instant until) {
    request ask{request::kind::set, paths_.clock()};
    const auto written = co_await through.ask(std::move(ask), until);
    if (written.has_error()) co_return written.error();
    if (!written->done())
        co_return failure{errc::unreachable, place_ + ": " + paths_.clock() + " is gone"};
    note_clock(written->stat);
    co_return written->stat.modified;
}

// Zxids of one session's writes rise, and those of all sessions while the ensemble keeps its data;
// two sessions may hear of theirs in another order than they were written.
void ensemble::note_clock(const node_stat& written) {
    clock_ = written.modified;
    clock_read_ = lease_clock::now();
    newest_zxid_ = std::max(newest_zxid_, written.modified_zxid);
}

std::int64_t ensemble::estimate_clock() const {
    return clock_ + std::chrono::floor<millis>(lease_clock::now() - clock_read_).count();
}

// ---- Keys

result<view> ensemble::understand(const std::string& key, const answer& record) const {
    view seen;
    if (!record.done()) return seen;
    auto parsed = parse_record(record.text, stamp_of(record.stat));
    if (!parsed)
        return failure{errc::rejected, place_ + ": cannot read the record " +
                                           paths_.record_of(key) +
                                           ": another program or a newer pawl wrote it"};
    seen.exists = true;
    seen.version = record.stat.version;
    seen.record = std::move(*parsed);
    return seen;
}

void ensemble::add_lease(view& seen, const answer& lease) {
    if (!lease.done()) return;
    seen.alive = true;
    seen.ttl = millis{base::leading_number<std::int64_t>(lease.text).value_or(0)};
    seen.renewed = lease.stat.modified;
    seen.renewed_zxid = lease.stat.modified_zxid;
    seen.owner = lease.stat.owner;
    seen.lease_version = lease.stat.version;
}

async<view> ensemble::look(session& through, const std::string& key, freshness how, instant until) {
    const auto path = paths_.record_of(key);
    std::vector<request> asked;
    if (how == freshness::synced) asked.emplace_back(request::kind::sync, path);
    // Its origin first: one that is older than the text is rejected, a younger one would vouch for
    // what another record has said.
    asked.emplace_back(request::kind::children, path);
    asked.emplace_back(request::kind::get, path);
    const auto answers = co_await through.ask_all(std::move(asked), until);
    if (answers.has_error()) co_return answers.error();
    const auto& children = (*answers)[answers->size() - 2];
    // Made in between.
    if (!children.done() && answers->back().done())
        co_return co_await look(through, key, how, until);
    auto seen = understand(key, answers->back());
    if (seen.has_error()) co_return seen;
    for (const auto& name : children.names)
        if (is_origin(name)) seen->origin = name;
    if (seen->record.lease.empty()) co_return seen;
    // The record once more behind its lease: one that is absent has expired only if the record
    // still names it. Else it was given up, or moved, in between, and what both say was never so.
    asked.clear();
    asked.emplace_back(request::kind::get, lease_path(key, *seen));
    asked.emplace_back(request::kind::get, path);
    const auto both = co_await through.ask_all(std::move(asked), until);
    if (both.has_error()) co_return both.error();
    const auto& lease = both->front();
    const bool is_the_same = both->back().stat.modified_zxid == answers->back().stat.modified_zxid;
    if (!lease.done() && !is_the_same) co_return co_await look(through, key, how, until);
    add_lease(*seen, lease);
    co_return seen;
}

}  // namespace pawl::zookeeper
