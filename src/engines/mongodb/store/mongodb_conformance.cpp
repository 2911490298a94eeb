// On the server of the tests; or, where PAWL_CONFORMANCE_URL is a URI of libmongoc with a database,
// such as that of a replica set, on that: in a collection that is made for it, and dropped.
#include "base/identity.hpp"
#include "base/url.hpp"
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/store_laws.hpp"

#include <cstdlib>
#include <optional>

namespace pawl::conformance {
namespace {

using testing_servers::mongodb_server;

// Nothing where it is not set, or is of another engine.
std::optional<std::string> url_of_environment() {
    const auto* text = std::getenv("PAWL_CONFORMANCE_URL");
    if (text == nullptr || std::string_view{text}.substr(0, 7) != "mongodb") return std::nullopt;
    return text;
}

class mongodb_running {
public:
    mongodb_running() {
        if (!url_) server_.emplace();
    }
    ~mongodb_running() {
        if (url_) drop();
    }

    static std::string_view name() { return "mongodb"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    // A waiter looks once a second.
    static constexpr std::uint64_t contested_grants = 10;

    // A port, or the collection and the URI.
    std::string address() const {
        return url_ ? collection_ + " " + *url_ : std::to_string(server_->port());
    }
    // One that is not ours is left running.
    void restart() {
        if (server_) server_->restart();
    }
    void lose_data() {
        if (server_) return server_->lose_data();
        drop();
    }

    static mongodb::mongodb_settings settings_at(const std::string& address,
                                                 store_settings common) {
        mongodb::mongodb_settings to;
        if (const auto blank = address.find(' '); blank != std::string::npos) {
            to.collection = address.substr(0, blank);
            to.uri = address.substr(blank + 1);
            to.database = database_of(to.uri);
            to.place = "mongodb:///" + to.database;
        } else {
            to = mongodb::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        }
        to.common = std::move(common);
        // The local server takes its time, above all beside other tests.
        to.common.timeout = std::chrono::seconds{20};
        return to;
    }

private:
    static std::string database_of(const std::string& uri) {
        const auto parsed = base::parse_store_url(uri);
        if (parsed.has_error() || parsed->path.empty())
            throw std::runtime_error{"PAWL_CONFORMANCE_URL needs a database after the '/'"};
        return parsed->path;
    }
    void drop() {
        mongodb_server::ask_at(*url_, database_of(*url_), R"({"drop": ")" + collection_ + R"("})");
    }

    const std::optional<std::string> url_ = url_of_environment();
    const std::string collection_ = "laws_" + base::fresh_id();
    std::optional<mongodb_server> server_;
};
using mongodb_engine = engine_on<mongodb_running, mongodb::make_mongodb_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(mongodb, StoreLaws, mongodb_engine);

}  // namespace
}  // namespace pawl::conformance
