#include "api/auth/verifier.hpp"

#include "config/texts.hpp"
#include "net/event.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace pawl::api {

using boost::asio::awaitable;

namespace {

// A token that pawl made cannot be guessed, so wrong ones say nothing about its user: a client that
// sends them must not keep others from logging in under that name.
bool is_guessable(const credential& shown) { return !name_in_token(shown.token).has_value(); }

// The one subject of guesses that name no user.
constexpr std::string_view everybody = "";

// One hash, off the loop.
struct hash_trial {
    std::shared_ptr<const credential> shown;
    std::string hash;

    comparison operator()() const noexcept { return compare(shown->token, hash); }
};

}  // namespace

// One credential on its way through the line, and the callers that wait for its result.
struct verifier::check {
    explicit check(std::shared_ptr<const credential> what) : shown{std::move(what)} {}

    std::shared_ptr<const credential> shown;  // its name is that in the token, if none was given
    std::string digest{};
    std::uint64_t generation = 0;
    std::optional<auth_result> found{};
    std::string hash{};  // of the user whose credential it is, once that is found
    net::event settled;
};

std::string address_group(std::string_view peer) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(std::string{peer}, error);
    if (error || address.is_v4()) return std::string{peer};
    auto bytes = address.to_v6().to_bytes();
    if (address.to_v6().is_v4_mapped())
        return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
            .to_string();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return boost::asio::ip::address_v6{bytes}.to_string() + "/64";
}

verifier::verifier(net::loop& where, std::vector<config::user_settings> users, verifier_rules rules)
    : loop_{where},
      rules_{rules},
      line_{rules.line_max},
      right_{rules.remembered_max, rules.remembered_for},
      wrong_{rules.remembered_max, rules.remembered_for},
      addresses_{rules.addresses},
      names_{rules.names},
      nameless_{rules.nameless} {
    replace_users(std::move(users));
}

void verifier::replace_users(std::vector<config::user_settings> users) {
    has_users_ = !users.empty();
    std::map<std::string, config::user_settings, std::less<>> next;
    for (auto& one : users)
        if (config::is_whole_token_hash(one.token_hash)) next.emplace(one.name, std::move(one));
    right_.erase_if([&](const caller& who) {
        const auto was = users_.find(who.name);
        const auto is = next.find(who.name);
        return is == next.end() || was == users_.end() || !(is->second == was->second);
    });
    // What was wrong may be right now.
    wrong_.erase_if([](const auth_result&) { return true; });
    unsettled_.clear();
    users_ = std::move(next);
    ++generation_;
}

const config::user_settings* verifier::find(std::string_view name) const {
    const auto found = users_.find(name);
    return found == users_.end() ? nullptr : &found->second;
}

std::optional<caller> verifier::recall(std::string_view token, instant now) {
    const auto name = name_in_token(token);
    const caller* known = right_.use(digests_.of(name ? *name : std::string{}, token), now);
    if (known == nullptr) return std::nullopt;
    return *known;
}

awaitable<auth_result> verifier::judge(credential shown) {
    const auto now = loop_.now();
    if (shown.name.empty())
        if (auto name = name_in_token(shown.token)) shown.name = std::move(*name);
    shown.peer = address_group(shown.peer);
    auto digest = digests_.of(shown.name, shown.token);
    if (const auto found = unsettled_.find(digest); found != unsettled_.end())
        return answer_of(shared_from_this(), found->second, false);

    auto one = std::make_shared<check>(std::make_shared<credential>(std::move(shown)));
    one->digest = std::move(digest);
    one->generation = generation_;
    if (const caller* known = right_.use(one->digest, now); known != nullptr) {
        auth_result right;
        right.is = auth_result::kind::right;
        right.who = *known;
        one->found = std::move(right);
        return answer_of(shared_from_this(), std::move(one), false);
    }
    // The same mistake again is no guess, and costs nothing: it does not count.
    if (const auth_result* known = wrong_.use(one->digest, now); known != nullptr)
        one->found = *known;
    else if (auto rejected = throttled(*one, now))
        one->found = std::move(*rejected);
    else
        begin(one);
    return answer_of(shared_from_this(), std::move(one), true);
}

void verifier::begin(shared_check one) {
    if (one->shown->name.empty() && users_.size() > rules_.nameless_users_max) {
        auth_result rejected;
        rejected.is = auth_result::kind::nameless;
        one->found = std::move(rejected);
        return;
    }
    unsettled_.emplace(one->digest, one);
    if (const auto out = line_.push(one, networks_of(one->shown->peer))) {
        auth_result rejected;
        rejected.is = auth_result::kind::overloaded;
        settle(**out, std::move(rejected), loop_.now());
    }
    if (working_ || line_.empty()) return;
    working_ = true;
    boost::asio::co_spawn(loop_.get_executor(), work(shared_from_this()), net::unattended{});
}

awaitable<auth_result> verifier::answer_of(std::shared_ptr<verifier> me, shared_check one,
                                           bool is_first) {
    const bool is_old = !one->found;
    while (!one->found) {
        auto waiting = one->settled.wait();
        co_await std::move(waiting);
    }
    auth_result found = *one->found;
    found.fresh = found.fresh && is_first;
    // A user who was right may have gone, or changed, before those who wait had their turn.
    if (is_old && found.is == auth_result::kind::right) {
        const auto* still = me->find(found.who.name);
        if (still == nullptr || still->role != found.who.role || still->token_hash != one->hash)
            co_return auth_result{};
    }
    co_return found;
}

awaitable<void> verifier::work(std::shared_ptr<verifier> me) {
    while (!me->line_.empty()) {
        const auto one = me->line_.pop();
        // Those before it in the line may have used up what was free.
        auto rejected = me->throttled(*one, me->loop_.now());
        if (rejected) {
            me->settle(*one, std::move(*rejected), me->loop_.now());
            continue;
        }
        auto finding = find_out(me, one);
        auto found = co_await std::move(finding);
        me->settle(*one, std::move(found), me->loop_.now());
    }
    me->working_ = false;
}

std::optional<auth_result> verifier::throttled(const check& one, instant now) const {
    auto wait = addresses_.wait_of(one.shown->peer, now);
    if (one.shown->name.empty())
        wait = std::max(wait, nameless_.wait_of(everybody, now));
    else if (is_guessable(*one.shown))
        wait = std::max(wait, names_.wait_of(one.shown->name, now));
    if (wait.count() == 0) return std::nullopt;
    auth_result rejected;
    rejected.is = auth_result::kind::throttled;
    rejected.wait = wait;
    return rejected;
}

std::vector<config::user_settings> verifier::candidates_for(const credential& shown) const {
    std::vector<config::user_settings> candidates;
    if (users_.empty()) return candidates;
    if (shown.name.empty()) {
        for (const auto& [name, user] : users_) candidates.push_back(user);
    } else if (const auto* user = find(shown.name)) {
        candidates.push_back(*user);
    } else {
        // Always the same for that name, as its own would be.
        const auto chosen = std::hash<std::string>{}(digests_.of(shown.name)) % users_.size();
        candidates.push_back(
            std::next(users_.begin(), static_cast<std::ptrdiff_t>(chosen))->second);
    }
    return candidates;
}

awaitable<auth_result> verifier::find_out(std::shared_ptr<verifier> me, shared_check one) {
    auth_result found;
    const auto candidates = me->candidates_for(*one->shown);
    for (const auto& user : candidates) {
        auto trial = hash_trial{one->shown, user.token_hash};
        auto trying = me->loop_.run_blocking(std::move(trial));
        const auto compared = co_await std::move(trying);
        if (compared == comparison::unknown) {
            found.is = auth_result::kind::overloaded;
            co_return found;
        }
        const bool is_own = one->shown->name.empty() || one->shown->name == user.name;
        if (compared != comparison::equal || !is_own) continue;
        // He may have gone meanwhile.
        const auto* still = me->find(user.name);
        if (still == nullptr || !(*still == user)) continue;
        found.is = auth_result::kind::right;
        found.who.name = user.name;
        found.who.role = user.role;
        one->hash = user.token_hash;
        break;
    }
    found.fresh = true;
    co_return found;
}

void verifier::settle(check& one, auth_result found, instant now) {
    const auto place = unsettled_.find(one.digest);
    if (place != unsettled_.end() && place->second.get() == &one) unsettled_.erase(place);
    const bool by_name = !one.shown->name.empty() && is_guessable(*one.shown);
    if (found.is == auth_result::kind::right) {
        right_.put(one.digest, found.who, now);
        if (by_name) names_.forgive(one.shown->name);
    } else if (found.is == auth_result::kind::wrong) {
        addresses_.add_failure(one.shown->peer, now);
        if (by_name) names_.add_failure(one.shown->name, now);
        if (one.shown->name.empty()) nameless_.add_failure(everybody, now);
        if (one.generation == generation_) {
            auth_result known = found;
            known.fresh = false;
            wrong_.put(one.digest, std::move(known), now);
        }
    }
    one.found = std::move(found);
    one.settled.set();
}

}  // namespace pawl::api
