// pawl fence check RESOURCE TOKEN
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/clients/run_client.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/output.hpp"

#include <iostream>
#include <memory>

namespace pawl::cli {
namespace {

struct check_options {
    std::string resource;
    std::string token;
    bool once = false;
};

status check(const globals& options, const check_options& what) {
    const fence_token token{token_option(what.token)};
    const auto rule = what.once ? fence_rule::reject_not_newer : fence_rule::reject_older;
    const auto inside = run_client::inside_run(options);
    const auto answer = inside ? inside->check_fence(what.resource, token, rule)
                               : open_client(options)->check_fence(what.resource, token, rule);
    if (options.json)
        print_json(boost::json::object{{"resource", what.resource},
                                       {"fence_token", number(token)},
                                       {"accepted", answer.accepted},
                                       {"newest", number(answer.highest)}});
    if (answer.accepted) return status::done;
    // An agent's API says no more than the newest.
    if (answer.never_issued || token > answer.highest) {
        if (!options.json)
            std::cerr << "pawl: invalid fencing token " << number(token)
                      << "; the store has not issued it: expected one like $PAWL_FENCE_TOKEN\n";
        return status::rejected;
    }
    if (!options.json)
        std::cerr << "pawl: stale: token " << number(token) << " is "
                  << (what.once ? "not newer than " : "older than ") << number(answer.highest)
                  << ", the newest seen for '" << base::printable(what.resource) << "'\n";
    return status::rejected;
}

}  // namespace

void add_fence(context& all) {
    auto* group = all.app.add_subcommand("fence", "check fencing tokens");
    group->require_subcommand(1);
    auto* one = group->add_subcommand(
        "check", "exit 0 if TOKEN is at least the highest seen for RESOURCE, else 77");
    auto what = std::make_shared<check_options>();
    one->add_option("RESOURCE", what->resource, "the name of the resource; any text")->required();
    one->add_option("TOKEN", what->token, "the fencing token, such as $PAWL_FENCE_TOKEN")
        ->required();
    one->add_flag("--once", what->once, "also reject a token seen before: one effect per token");
    const std::string example =
        "Example: pawl fence check ledger \"$PAWL_FENCE_TOKEN\" && ./post-to-ledger";
    one->footer(example);
    group->footer(example);
    one->callback(
        [&all, what] { all.chosen = [&all, what] { return check(all.options, *what); }; });
}

}  // namespace pawl::cli
