// What the tests of a medium under the compare-and-swap core share: a client and the medium itself
// on one real server, what each medium must do, and the faults that each server can have.
//
// An Engine is a cas_engine, which says besides:
//
//   static constexpr bool answers_can_be_held = …;  // by a proxy before its server, one by one
#pragma once

#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::conformance {

// A server of test_support/servers, the settings for its port, and what is made with them.
template <class Server, auto settings_on_port, auto store_maker, auto medium_maker>
struct cas_engine {
    using server = Server;
    static auto on_port(std::uint16_t port, millis timeout) {
        return settings_on_port(port, timeout);
    }
    template <class Settings>
    static auto make_store(net::loop& where, const Settings& to) {
        return store_maker(where, to);
    }
    template <class Settings>
    static auto make_medium(net::loop& where, const Settings& to) {
        return medium_maker(where, to);
    }
};

// A local server takes its time, above all beside other tests.
constexpr millis cas_timeout{20'000};

template <class Engine>
client open_cas(std::uint16_t port, millis timeout = cas_timeout,
                const std::string& name_space = "pawl") {
    auto settings = Engine::on_port(port, timeout);
    settings.common.name_space = name_space;
    return client{[=](net::loop& where) { return Engine::make_store(where, settings); }};
}

// One server for all; each test has a namespace of its own.
template <class Engine>
class CasMedium : public ::testing::Test {
protected:
    using medium_ptr = std::shared_ptr<cas::medium>;
    using server = typename Engine::server;

    static void SetUpTestSuite() { server_ = std::make_unique<server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    static std::string name_space() {
        return ::testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    static auto settings() {
        auto to = Engine::on_port(server_->port(), cas_timeout);
        to.common.name_space = name_space();
        return to;
    }
    static client open() { return open_cas<Engine>(server_->port(), cas_timeout, name_space()); }
    static instant later() { return lease_clock::now() + std::chrono::minutes{1}; }

    medium_ptr medium() {
        auto made = Engine::make_medium(loop_, settings());
        EXPECT_TRUE(loop_.wait_for(made->prepare(later())).has_value());
        return made;
    }
    cas::seen read(const medium_ptr& from, const std::string& key) {
        cas::record_name name{cas::record_kind::lease, key};
        return loop_.wait_for(from->read(std::move(name), later())).value();
    }
    cas::write_answer try_write(const medium_ptr& to, const std::string& key,
                                const std::string& text, const cas::version& expected = {}) {
        cas::change wanted{{cas::record_kind::lease, key}, text, expected};
        return loop_.wait_for(to->write(std::move(wanted), later())).value();
    }
    cas::version write(const medium_ptr& to, const std::string& key, const std::string& text,
                       const cas::version& expected = {}) {
        const auto got = try_write(to, key, text, expected);
        if (const auto* done = std::get_if<cas::written>(&got)) return done->at;
        ADD_FAILURE() << key << " was not written";
        return {};
    }
    bool erase(const medium_ptr& from, const std::string& key, const cas::version& expected) {
        cas::record_name name{cas::record_kind::lease, key};
        const auto got = loop_.wait_for(from->erase(std::move(name), expected, later()));
        return std::holds_alternative<cas::written>(got.value());
    }
    examination examine() {
        const auto store = Engine::make_store(loop_, settings());
        const auto found = loop_.wait_for(store->examine());
        if (found.has_error()) {
            ADD_FAILURE() << found.error().detail;
            return {};
        }
        EXPECT_TRUE(found->clock.has_value());
        return *found;
    }

    // A version is that of one state only, also where the record was deleted in between. `others`
    // are versions that the record never has.
    void expect_versions_of_one_state(const std::vector<cas::version>& others) {
        const auto on = medium();
        EXPECT_EQ(read(on, "key").at, "");
        const auto first = write(on, "key", "one");
        for (const auto& other : others)
            EXPECT_TRUE(std::holds_alternative<cas::conflict>(try_write(on, "key", "two", other)))
                << other;
        EXPECT_TRUE(std::holds_alternative<cas::conflict>(try_write(on, "key", "two", "")));
        EXPECT_TRUE(std::holds_alternative<cas::conflict>(try_write(on, "none", "two", first)));
        const auto stands = read(on, "key");
        EXPECT_EQ(stands.text, "one");
        EXPECT_EQ(stands.at, first);
        EXPECT_TRUE(stands.clock.has_value());
        const auto second = write(on, "key", "two", first);
        EXPECT_FALSE(erase(on, "key", first));
        EXPECT_TRUE(erase(on, "key", second));
        EXPECT_EQ(read(on, "key").at, "");
        EXPECT_TRUE(std::holds_alternative<cas::conflict>(try_write(on, "key", "two", second)));
    }

    // Goal: many records are read as one is. Method: some that are there, one twice, and one that
    // is not, of a journal, whose scopes may have the same keys.
    void expect_many_read_in_their_order() {
        const auto on = medium();
        const auto name = [](const std::string& key) {
            return cas::record_name{cas::record_kind::journal, key};
        };
        const std::vector<std::string> keys{"due/a/0:1", "due/b/0:1", "none:1", "due/a/0:1"};
        for (const std::size_t which : {0U, 1U}) {
            cas::change wanted{name(keys[which]), "text of " + keys[which], {}};
            const auto got = loop_.wait_for(on->write(std::move(wanted), later())).value();
            EXPECT_TRUE(std::holds_alternative<cas::written>(got));
        }
        std::vector<cas::record_name> names;
        for (const auto& key : keys) names.push_back(name(key));
        const auto found = loop_.wait_for(on->read_many(std::move(names), later())).value();
        ASSERT_EQ(found.size(), keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto alone = loop_.wait_for(on->read(name(keys[i]), later())).value();
            EXPECT_EQ(found[i].text, alone.text) << i;
            EXPECT_EQ(found[i].at, alone.at) << i;
            EXPECT_EQ(found[i].at.empty(), keys[i] == "none:1") << i;
        }
        EXPECT_TRUE(found[0].clock.has_value());
        EXPECT_TRUE(loop_.wait_for(on->read_many({}, later())).value().empty());
        const auto page =
            loop_.wait_for(on->list({cas::record_kind::journal, "due/b/0:", "", 10}, later()))
                .value();
        ASSERT_EQ(page.records.size(), 1U);
        EXPECT_EQ(page.records[0].first, "due/b/0:1");
        EXPECT_EQ(page.records[0].second.at, found[1].at);
    }

    // How the pages of one list are asked for.
    struct paging {
        std::vector<std::string> prefixes;
        std::function<std::string(const std::string&)> text_of;  // a key's record
        std::function<medium_ptr()> by{};  // of each page; nothing: one for all of them
        std::size_t one_by_one_max = 1'000;
    };
    // Goal: pages are one list, in byte order. Method: all pages of many keys, of some prefixes and
    // by some limits.
    void expect_pages_in_byte_order(std::vector<std::string> keys, const paging& how) {
        const auto on = medium();
        for (const auto& key : keys) write(on, key, how.text_of(key));
        std::ranges::sort(keys);
        for (const auto& prefix : how.prefixes)
            for (const std::size_t limit : {1U, 7U, 1000U})
                expect_pages(how.by ? how.by : [&] { return on; }, keys, prefix, limit, how);
    }

    static inline std::unique_ptr<server> server_;
    net::loop loop_;

private:
    void expect_pages(const std::function<medium_ptr()>& by, const std::vector<std::string>& keys,
                      const std::string& prefix, std::size_t limit, const paging& how) {
        std::vector<std::string> expected, found;
        for (const auto& key : keys)
            if (key.starts_with(prefix)) expected.push_back(key);
        if (limit == 1) expected.resize(std::min(expected.size(), how.one_by_one_max));
        std::string after;
        for (bool more = true; more && (limit > 1 || found.size() < how.one_by_one_max);) {
            const auto page = loop_.wait_for(
                by()->list({cas::record_kind::lease, prefix, after, limit}, later()));
            ASSERT_TRUE(page.has_value()) << page.error().detail;
            ASSERT_LE(page->records.size(), limit);
            more = page->more;
            for (const auto& [key, stands] : page->records) {
                EXPECT_EQ(stands.text, how.text_of(key));
                found.push_back(key);
                after = key;
            }
        }
        EXPECT_EQ(found, expected) << "'" << prefix << "' by " << limit;
    }
};

// A server of its own, which may be hurt.
template <class Engine>
class CasFaults : public ::testing::Test {
protected:
    static client open(std::uint16_t port, millis timeout = cas_timeout) {
        return open_cas<Engine>(port, timeout);
    }

    typename Engine::server server_;
};
TYPED_TEST_SUITE_P(CasFaults);

TYPED_TEST_P(CasFaults, AfterAKillTheSameClaimHasTheSameGrant) {
    const auto open_on = [](auto... how) { return CasFaults<TypeParam>::open(how...); };
    if constexpr (TypeParam::answers_can_be_held) {
        expect_the_same_grant_of_a_known_key_after_a_kill(this->server_, open_on);
    } else {
        auto mine = open_on(this->server_.port());
        const auto wanted = fresh_claim("key", millis{60'000});
        const auto token = mine.granted(wanted);
        this->server_.crash();
        this->server_.start();
        // The connections were lost with the server: one of the requests may be unknown.
        auto again = mine.acquire(wanted);
        if (again.has_error()) again = mine.acquire(wanted);
        EXPECT_TRUE(again.has_value());
        EXPECT_EQ(mine.granted(wanted), token);
        EXPECT_EQ(open_on(this->server_.port()).show("key").holder, token);
    }
}

TYPED_TEST_P(CasFaults, WhileTheServerIsFrozenRequestsEndInTimeAndNothingIsLost) {
    expect_requests_to_end_while_frozen(
        this->server_, [](auto... how) { return CasFaults<TypeParam>::open(how...); });
}

TYPED_TEST_P(CasFaults, ConnectionsThatAreCutAreMadeAnew) {
    testing_faults::tcp_proxy proxy{this->server_.port()};
    auto mine = this->open(proxy.port());
    mine.granted(fresh_claim("warm"));
    expect_connections_made_anew(proxy, mine);
}

TYPED_TEST_P(CasFaults, ALoopMayEndUnderRequests) {
    auto where = std::make_unique<net::loop>();
    auto store =
        TypeParam::make_store(*where, TypeParam::on_port(this->server_.port(), millis{2'000}));
    this->server_.freeze();
    end_under_requests(std::move(where), std::move(store));
    this->server_.thaw();
}

REGISTER_TYPED_TEST_SUITE_P(CasFaults, AfterAKillTheSameClaimHasTheSameGrant,
                            WhileTheServerIsFrozenRequestsEndInTimeAndNothingIsLost,
                            ConnectionsThatAreCutAreMadeAnew, ALoopMayEndUnderRequests);

}  // namespace pawl::conformance
