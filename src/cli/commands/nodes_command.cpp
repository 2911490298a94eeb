// pawl nodes ls and pawl audit ls.
#include "base/counted.hpp"
#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"
#include "engines/rules/journal/audit_chain.hpp"
#include "schedule/job/job_digest.hpp"
#include "time/zone.hpp"

#include <iostream>
#include <memory>

namespace pawl::cli {
namespace {

using documents::state_of;

// Without what it says of its jobs and its zones.
std::string version_of(const node_entry& node) {
    return time::split_zones(schedule::split_jobs(node.version).version).version;
}

status list_nodes(const globals& options) {
    const auto asked = open_client(options);
    const auto nodes = asked->list_nodes();
    if (options.json) {
        boost::json::array all;
        for (const auto& one : nodes) all.push_back(documents::json_of(one));
        print_json(boost::json::object{{"nodes", std::move(all)}, {"next", ""}});
        return status::done;
    }
    std::vector<std::vector<std::string>> rows{
        {"NAME", "STATE", "LAST SEEN", "RUNNING", "JOBS", "STARTED", "VERSION", "ID"}};
    for (const auto& one : nodes)
        rows.push_back({base::printable(one.name), std::string{state_of(one)},
                        base::format_duration(one.age) + " ago",
                        std::to_string(one.running) + "/" + std::to_string(one.running_max),
                        std::to_string(one.jobs), local_time(one.started_at),
                        base::printable(version_of(one)), base::printable(one.id)});
    if (nodes.empty())
        std::cout << "No nodes yet.\n";
    else
        print_table(rows);
    return status::done;
}

struct audit_options {
    std::size_t limit = 50;
    bool verify = false;
    std::string head;
};

// Walks the whole chain, from the newest back to the first.
status verify_audit(const globals& options, const std::string& head) {
    if (!head.empty() && !journals::is_hash(head))
        throw exit_error{status::usage, "invalid --head '" + base::printable(head) +
                                            "'; expected the 64 hexadecimal digits of a hash"};
    const auto asked = open_client(options);
    journals::chain_walk walk{head};
    while (!walk.is_finished()) {
        const auto some = asked->list_audit(walk.before(), page_limit_max);
        walk.take(some);
    }
    if (const auto& broken = walk.broken())
        throw exit_error{status::rejected, "audit log tampered with: " + broken->what};
    if (options.json)
        print_json(boost::json::object{{"verified", walk.verified()}});
    else
        std::cout << "audit log verified: " << base::counted(walk.verified(), "entry", "entries")
                  << '\n';
    return status::done;
}

status list_audit(const globals& options, const audit_options& what) {
    if (what.verify) return verify_audit(options, what.head);
    const auto asked = open_client(options);
    const auto entries = asked->list_audit(0, std::min(what.limit, page_limit_max));
    if (options.json) {
        boost::json::array all;
        for (const auto& one : entries) all.push_back(documents::json_of(one));
        print_json(boost::json::object{{"audit", std::move(all)}, {"next", ""}});
        return status::done;
    }
    std::vector<std::vector<std::string>> rows{{"TIME", "USER", "ACTION", "TARGET", "DETAIL"}};
    for (const auto& one : entries)
        rows.push_back({local_time(one.at), base::printable(one.actor), base::printable(one.action),
                        base::printable(one.target), base::printable(one.detail)});
    if (entries.empty())
        std::cout << "No audit entries yet.\n";
    else
        print_table(rows);
    return status::done;
}

}  // namespace

void add_nodes(context& all) {
    auto* group = all.app.add_subcommand("nodes", "list agents");
    group->require_subcommand(1);
    auto* ls = group->add_subcommand("ls", "list agents with a heartbeat within the last day");
    ls->footer("Example: pawl nodes ls --json");
    ls->callback([&all] { all.chosen = [&all] { return list_nodes(all.options); }; });
    group->footer("Example: pawl nodes ls");
}

void add_audit(context& all) {
    auto* group = all.app.add_subcommand("audit", "show the audit log");
    group->require_subcommand(1);
    auto what = std::make_shared<audit_options>();
    auto* ls = group->add_subcommand("ls", "list the actions of users, newest first");
    ls->add_option("--limit", what->limit, "maximum results")
        ->check(number_within(1, page_limit_max))
        ->type_name("N")
        ->capture_default_str();
    auto* verify = ls->add_flag("--verify", what->verify, "verify the hash chain instead");
    ls->add_option("--head", what->head,
                   "verify that the chain contains this hash, recorded earlier")
        ->needs(verify)
        ->type_name("HASH");
    ls->footer("Example: pawl audit ls --verify");
    ls->callback(
        [&all, what] { all.chosen = [&all, what] { return list_audit(all.options, *what); }; });
    group->footer("Example: pawl audit ls --limit 10");
}

}  // namespace pawl::cli
