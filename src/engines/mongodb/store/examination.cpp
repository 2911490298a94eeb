#include "engines/mongodb/store/examination.hpp"

#include "base/text.hpp"

namespace pawl::mongodb {

result<deployment> judge(const std::string& place, const greeting& hello) {
    const auto& said = hello.said;
    if (said.find_text("msg") == "isdbgrid")
        return failure{errc::unsupported,
                       place +
                           ": this is a router of a sharded cluster, whose clock is not that of "
                           "the primary; expected a replica set"};
    if (!said.is_true("isWritablePrimary") && !said.is_true("ismaster"))
        return failure{errc::unreachable, place + ": this server is not the primary"};
    if (!stamp_of(hello))
        return failure{errc::unsupported, place + ": the server does not say what time it is"};
    deployment found;
    found.is = topology::standalone;
    if (auto name = said.find_text("setName")) {
        found.is = topology::replica_set;
        found.set = std::move(*name);
        // A list of texts, of which only the number matters.
        for (const std::string list : {"hosts.", "passives."})
            for (int i = 0; said.has((list + std::to_string(i)).c_str()); ++i) ++found.members;
    }
    return found;
}

std::optional<cas::stamp> stamp_of(const greeting& hello) {
    const auto time = hello.said.find_number("localTime");
    if (!time || *time <= 0) return std::nullopt;
    return cas::stamp{std::chrono::milliseconds{*time}, hello.asked, hello.answered};
}

finding judge_durability(const deployment& where) {
    if (where.is == topology::replica_set && where.members >= 3)
        return {severity::ok, "replication",
                "the replica set " + base::printable(where.set) + " of " +
                    std::to_string(where.members) +
                    " members: a majority remembers, as writes wait for it and its journals"};
    if (where.is == topology::replica_set)
        return {severity::warn, "replication",
                "the replica set " + base::printable(where.set) + " has " +
                    std::to_string(where.members) +
                    " members that hold data: when one is gone there is no majority, and no grant; "
                    "use three"};
    return {severity::warn, "replication",
            "this server stands alone: it remembers what its journal has, and with its disk all "
            "grants are gone; use a replica set of three, or set quarantine=DUR"};
}

finding judge_indexes(const std::vector<document>& indexes) {
    for (const auto& one : indexes)
        if (one.has("expireAfterSeconds"))
            return {severity::fail, "limits",
                    "the index '" + base::printable(one.find_text("name").value_or("")) +
                        "' deletes documents when they are old, and tokens with them; drop it"};
    return {severity::ok, "limits", "no index deletes records"};
}

}  // namespace pawl::mongodb
