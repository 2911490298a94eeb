// One store and all that this process holds in it: claims, keeps, releases.
//
// A driver: it does what the machines of src/lease say. Everything here runs on the loop;
// coroutines keep the engine alive by shared_ptr, because they may die as late as the loop does.
#pragma once

#include "base/identity.hpp"
#include "lease/claiming.hpp"
#include "net/loop.hpp"
#include "runtime/gate.hpp"
#include "runtime/holding.hpp"
#include "runtime/keeper.hpp"

#include <pawl/observer.hpp>
#include <pawl/options.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

namespace pawl::runtime {

struct called_off {};
using claimed = std::variant<std::shared_ptr<holding>, busy, already_done, called_off>;

class engine : public std::enable_shared_from_this<engine> {
public:
    struct parts {
        net::loop* loop;
        std::shared_ptr<lease_store> store;
        store_settings settings;
        std::string owner;
        std::shared_ptr<observer> watcher;
    };
    explicit engine(parts made_of);

    void start();
    void connect(std::shared_ptr<link> home) { home_ = std::move(home); }

    // REQUIRES: validate() had nothing to say about the options.
    static async<claimed> claim_key(std::shared_ptr<engine> self, std::string key,
                                    lease_options options, patience how_long, std::stop_token stop);
    // Waits until the key may no longer be held under `seen`, for `longest` at most: for who wants
    // to claim it then, and has better things to do meanwhile than to stand in line.
    static boost::asio::awaitable<void> await_change(std::shared_ptr<engine> self, std::string key,
                                                     fence_token seen, millis longest,
                                                     std::stop_token stop);
    static boost::asio::awaitable<release_outcome> release(std::shared_ptr<engine> self,
                                                           std::shared_ptr<holding> who);
    static boost::asio::awaitable<renewal> renew(std::shared_ptr<engine> self,
                                                 std::shared_ptr<holding> who);
    // Ends when no release is under way any more, or after `longest`.
    static boost::asio::awaitable<bool> drain(std::shared_ptr<engine> self, millis longest);

    // For failures of what is asked of the store directly.
    void report_failure(std::string_view operation, const failure& why) const {
        if (watcher_) watcher_->on_store_failure(operation, why);
    }

    lease_store& store() const { return *store_; }
    const std::shared_ptr<lease_store>& shared_store() const { return store_; }
    const store_settings& settings() const { return settings_; }
    const std::string& owner() const { return owner_; }
    const boost::asio::any_io_executor& executor() const { return executor_; }

private:
    // What one claim needs while it goes on. Lives in its coroutine.
    struct errand;

    std::optional<busy> held_here(const std::string& key) const;
    std::shared_ptr<holding> share(const std::string& key);
    static boost::asio::awaitable<claimed> take_turn(std::shared_ptr<engine> self, errand& todo,
                                                     ticket& turn);
    static boost::asio::awaitable<leasing::claim_outcome> ask(std::shared_ptr<engine> self,
                                                              errand& todo);
    static boost::asio::awaitable<void> listen(std::shared_ptr<engine> self, std::string key,
                                               fence_token seen,
                                               std::shared_ptr<place_in_line> place, instant until);
    static boost::asio::awaitable<void> pause(errand& todo, instant until);
    static boost::asio::awaitable<void> withdraw(std::shared_ptr<engine> self, std::string key,
                                                 std::string id);
    std::shared_ptr<holding> hold(errand& todo, leasing::granted won, ticket turn);
    void report(const errand& todo, acquire_outcome outcome);

    // Constant after construction
    net::loop& loop_;
    boost::asio::any_io_executor executor_;
    std::shared_ptr<lease_store> store_;
    store_settings settings_;
    std::string owner_;
    std::shared_ptr<observer> watcher_;
    std::shared_ptr<link> home_;
    std::shared_ptr<gate> gate_;
    std::shared_ptr<keeper> keeper_;
    // State
    std::unordered_map<std::string, std::weak_ptr<holding>> held_;
    base::id_source ids_;
    std::size_t releases_ = 0;
    std::shared_ptr<boost::asio::steady_timer> drained_;
};

}  // namespace pawl::runtime
