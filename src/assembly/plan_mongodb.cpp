#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "base/ascii.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "engines/mongodb/journal/mongodb_journal.hpp"
#include "engines/mongodb/store/mongodb_store.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace pawl::assembly {
namespace {

// What libmongoc understands and pawl leaves to it. Names are of any case.
constexpr std::array<std::string_view, 29> passed_on{"appname",
                                                     "authmechanism",
                                                     "authmechanismproperties",
                                                     "authsource",
                                                     "canonicalizehostname",
                                                     "compressors",
                                                     "connecttimeoutms",
                                                     "directconnection",
                                                     "gssapiservicename",
                                                     "heartbeatfrequencyms",
                                                     "loadbalanced",
                                                     "localthresholdms",
                                                     "maxidletimems",
                                                     "replicaset",
                                                     "serverselectiontimeoutms",
                                                     "sockettimeoutms",
                                                     "srvmaxhosts",
                                                     "srvservicename",
                                                     "ssl",
                                                     "tls",
                                                     "tlsallowinvalidcertificates",
                                                     "tlsallowinvalidhostnames",
                                                     "tlscafile",
                                                     "tlscertificatekeyfile",
                                                     "tlscertificatekeyfilepassword",
                                                     "tlsdisablecertificaterevocationcheck",
                                                     "tlsdisableocspendpointcheck",
                                                     "tlsinsecure",
                                                     "zlibcompressionlevel"};

// What pawl decides itself: URIs that people copy have them, so the one value that says the same is
// taken, and no other. `retryWrites` is off whatever is said: what was not answered is looked for
// before it is written again.
struct decided {
    std::string_view name;
    std::string_view value;  // empty: any
};
constexpr std::array decided_by_pawl{decided{"w", "majority"},
                                     decided{"journal", "true"},
                                     decided{"retrywrites", ""},
                                     decided{"retryreads", ""},
                                     decided{"readpreference", "primary"},
                                     decided{"readconcernlevel", "majority"}};

std::string encoded(const std::string& text) { return base::percent_encode(text); }

// The options of libmongoc, each as &name=value.
std::string take_options(const base::store_url& url, parameters& query) {
    std::string options;
    for (const auto& [name, value] : url.parameters) {
        const auto plain = base::lower(name);
        const auto* known = std::find_if(decided_by_pawl.begin(), decided_by_pawl.end(),
                                         [&](const decided& one) { return one.name == plain; });
        if (known != decided_by_pawl.end()) {
            query.text(name);
            if (!known->value.empty() && base::lower(value) != known->value)
                throw option_error{"mongodb: invalid " + name + " '" + base::printable(value) +
                                   "'; expected " + std::string{known->value} +
                                   ", without which a grant can be forgotten"};
            continue;
        }
        if (std::find(passed_on.begin(), passed_on.end(), plain) == passed_on.end()) continue;
        query.text(name);
        options += (options.empty() ? "?" : "&") + name + "=" + encoded(value);
    }
    return options;
}

std::string host_of(const base::endpoint& one) {
    auto text = one.host.find(':') == std::string::npos ? encoded(one.host) : "[" + one.host + "]";
    if (one.port != 0) text += ":" + std::to_string(one.port);
    return text;
}

void take_place(const base::store_url& url, parameters& query, mongodb::mongodb_settings& into) {
    if (url.endpoints.empty())
        throw option_error{
            "mongodb: needs a host and a database, such as mongodb://user:password@host/database"};
    into.database = url.path;
    if (const auto fault = mongodb::database_fault(into.database))
        throw option_error{"mongodb: invalid database '" + base::printable(into.database) + "'; " +
                           *fault + ", such as mongodb://user:password@host/database"};
    into.collection = query.text("collection").value_or(into.collection);
    if (const auto fault = mongodb::collection_fault(into.collection))
        throw option_error{"mongodb: invalid collection '" + base::printable(into.collection) +
                           "'; " + *fault};
    std::string hosts;
    for (const auto& one : url.endpoints) hosts += (hosts.empty() ? "" : ",") + host_of(one);
    into.place = url.scheme + "://" + hosts + "/" + into.database;
    std::string credentials;
    if (url.user) {
        credentials = encoded(*url.user);
        if (const auto password = query.password()) credentials += ":" + encoded(*password);
        credentials += "@";
    }
    into.uri = url.scheme + "://" + credentials + hosts + "/" + into.database;
}

}  // namespace

store_plan plan_mongodb(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    mongodb::mongodb_settings settings;
    settings.common = plan.settings;
    settings.skew = query.duration("skew");
    take_place(url, query, settings);
    settings.uri += take_options(url, query);
    query.finish();
    if (const auto fault = mongodb::uri_fault(settings.uri))
        throw option_error{"mongodb: " + base::printable(*fault)};
    plan.make = [settings](net::loop& where) {
        return mongodb::make_mongodb_store(where, settings);
    };
    plan.make_journal = [settings](net::loop& where) {
        return mongodb::make_mongodb_journal(where, settings);
    };
    return plan;
}

}  // namespace pawl::assembly
