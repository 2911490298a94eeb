#include "cli/clients/journal_client.hpp"

#include "assembly/engines.hpp"
#include "cli/output/status.hpp"
#include "documents/job_terms.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace pawl::cli {
namespace {

// Empty where the store keeps none, and no other is named.
runtime::journal_maker maker_for(const globals& options) {
    const auto store = choose_store(options);
    const auto journal = choose_journal(options);
    try {
        return assembly::plan_journal(store.url, journal.url);
    } catch (const option_error& error) {
        const bool flag =
            journal.from == "--journal" || (journal.url.empty() && store.from == "--store");
        const auto from = journal.url.empty() ? store.from : journal.from;
        throw exit_error{flag ? status::usage : status::configuration, from + ": " + error.what()};
    }
}

}  // namespace

exit_error journal_missing() {
    return {status::configuration,
            "the store keeps no journal of runs; name one with --journal, such as "
            "sqlite:, postgresql:, mysql:, redis:, mongodb: or dynamodb:"};
}

bool keeps_journal(const globals& options) { return maker_for(options) != nullptr; }

journal_client::journal_client(const globals& options) {
    const auto make = maker_for(options);
    if (!make) throw journal_missing();
    auto open = [](net::loop& where, const runtime::journal_maker& how)
        -> boost::asio::awaitable<std::shared_ptr<journal>> { co_return how(where); };
    journal_ = loop_.wait_for(open(loop_, make));
}

void audit(journal_client& where, std::string action, std::string target, std::string detail) {
    audit_draft what;
    what.actor = actor_name();
    what.action = std::move(action);
    what.target = std::move(target);
    what.detail = std::move(detail);
    where.ask(where.verbs().append_audit(what));
}

std::vector<job_entry> known_jobs(journal_client& where) {
    std::vector<job_entry> all;
    for (;;) {
        const auto after = all.empty() ? std::string{} : all.back().name;
        auto some = where.ask(where.verbs().list_jobs(after, page_limit_max));
        const bool more = some.size() == page_limit_max;
        std::move(some.begin(), some.end(), std::back_inserter(all));
        if (!more) return all;
    }
}

job_entry known_job(journal_client& where, const std::string& name) {
    auto found = where.ask(where.verbs().find_job(name));
    if (found) return *found;
    const auto all = known_jobs(where);
    std::vector<std::string_view> names;
    names.reserve(all.size());
    for (const auto& one : all) names.push_back(one.name);
    throw exit_error{status::usage, documents::unknown_job(name, names, "see 'pawl jobs ls'")};
}

}  // namespace pawl::cli
