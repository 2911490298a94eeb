#include "engines/redis/journal/make_redis_journal.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "base/text.hpp"
#include "engines/redis/client/slots.hpp"
#include "engines/redis/journal/journal_text.hpp"
#include "engines/redis/journal/redis_journal.hpp"

namespace pawl::redis {
namespace {

// In a cluster the whole journal of a namespace is in one shard, or no script could see all of it;
// another namespace's is in another.
std::size_t shard_for(const redis_settings& settings) {
    return settings.shape == topology::cluster
               ? shard_of_key(settings.common.name_space + ":journal")
               : 0;
}

std::string base_for(const redis_settings& settings) {
    auto base = settings.common.name_space;
    if (settings.shape == topology::cluster) base += "{" + shard_tag(shard_for(settings)) + "}";
    return base + ":journal:";
}

}  // namespace

redis_journal::redis_journal(net::loop& where, redis_settings settings)
    : settings_{std::make_shared<const redis_settings>(std::move(settings))},
      servers_{servers::make(where, settings_)},
      shard_{shard_for(*settings_)},
      runs_{base_for(*settings_) + "runs"},
      whole_{base_for(*settings_) + "whole"} {}

script_call redis_journal::reading(const journal_script& which) const {
    script_call call{which.whole(), servers_->is_cluster() ? 2U : 1U};
    call.add(runs_);
    if (servers_->is_cluster()) call.add(whole_);
    return call;
}

script_call redis_journal::writing(const journal_script& which) const {
    auto call = reading(which);
    call.confirm_by(settings_->replicas);
    return call;
}

async<reply> redis_journal::ask(const script_call& call) {
    auto got = co_await servers_->run(call, shard_);
    if (got.has_error() || call.confirmations() == 0) co_return got;
    if (got->elements.size() != 2) co_return unreadable("the answer to WAIT");
    const auto copies = got->elements[1].number;
    if (copies < settings_->replicas) co_return unconfirmed(servers_->place(), copies, *settings_);
    auto said = std::move(got->elements[0]);
    co_return said;
}

async<std::int64_t> redis_journal::ask_number(script_call call) {
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    if (!got->is_integer()) co_return unreadable("the answer of a script");
    co_return got->number;
}

async<bool> redis_journal::ask_flag(script_call call) {
    const auto got = co_await ask_number(std::move(call));
    if (got.has_error()) co_return got.error();
    co_return *got == 1;
}

async<std::optional<run_record>> redis_journal::ask_run(script_call call) {
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    if (!got->is_array()) co_return std::optional<run_record>{};
    auto found = read_run(*got);
    if (!found) co_return unreadable("a run");
    co_return std::move(found);
}

failure redis_journal::unreadable(std::string_view what) const {
    return {errc::rejected, servers_->place() + ": cannot read " + std::string{what} + " below " +
                                runs_.substr(0, runs_.rfind(':')) +
                                ": another program uses this name: choose namespace="};
}

failure redis_journal::too_slow() const {
    return {errc::unreachable, servers_->place() + ": not read to the end within " +
                                   base::format_duration(settings_->common.timeout)};
}

std::shared_ptr<journal> make_redis_journal(net::loop& where, redis_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<redis_journal>(where, std::move(settings));
}

}  // namespace pawl::redis
