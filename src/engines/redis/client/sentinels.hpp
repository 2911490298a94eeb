// The sentinels of one master: who it is now, and word of the moment when it is another.
//
// They are asked in turn, the last that answered first. One of them is listened to, because a
// connection to a master that was replaced may stand for long: frozen, or cut off with us.
#pragma once

#include "engines/redis/client/locator.hpp"
#include "engines/redis/client/resp.hpp"
#include "net/attachment.hpp"
#include "net/backoff.hpp"
#include "net/boot_timer.hpp"
#include "net/byte_stream.hpp"
#include "net/callback_timer.hpp"

#include <pawl/errors.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace pawl::redis {

// Used on its loop only, but for close_from_anywhere.
class sentinels : public locator,
                  public net::attached,
                  public std::enable_shared_from_this<sentinels> {
public:
    // REQUIRES: settings.shape == topology::sentinel, with a master name and at least one seed.
    static std::shared_ptr<sentinels> make(net::loop& where,
                                           std::shared_ptr<const redis_settings> settings);
    // Use make().
    sentinels(net::loop& where, std::shared_ptr<const redis_settings> settings);

    // The settings of the master that a sentinel names. The first call begins to listen as well.
    async<std::shared_ptr<const redis_settings>> locate(instant deadline) override;
    // Called whenever the master is another than the one last located.
    void on_move(std::function<void(const server_address&)> moved) { moved_ = std::move(moved); }

    // Asks every sentinel whether enough of them would agree on a failover; what each said.
    struct sentinel_reply {
        std::string place;
        result<std::string> said;
    };
    async<std::vector<sentinel_reply>> ask_quorum(instant deadline);

    // Thread-safe. No caller is notified any more.
    void close_from_anywhere();

private:
    async<std::vector<reply>> ask(std::size_t which, std::string commands, std::size_t count,
                                  instant deadline);
    async<server_address> ask_address(std::size_t which, instant deadline);
    async<server_address> find(instant deadline);

    static boost::asio::awaitable<void> listen_for_ever(std::shared_ptr<sentinels> self);
    static boost::asio::awaitable<void> listen(std::shared_ptr<sentinels> self, std::size_t which);
    static boost::asio::awaitable<void> compare(std::shared_ptr<sentinels> self);
    void take(const reply& push);
    void note(const server_address& master);
    void keep_alive(const std::shared_ptr<net::byte_stream>& stream);
    instant share_of(instant deadline) const;

    void close();
    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    std::vector<std::shared_ptr<const redis_settings>> asked_;  // how to dial each sentinel
    const net::byte_stream::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::function<void(const server_address&)> moved_;
    std::optional<server_address> master_;  // the one last located or announced
    std::size_t preferred_ = 0;             // the sentinel that answered last
    bool listening_ = false;
    bool subscribed_ = false;
    bool closed_ = false;
    bool heard_ = true;  // something since the last PING
    std::shared_ptr<net::byte_stream> ear_;
    std::optional<net::boot_timer> backoff_;  // empty once the loop has ended
    std::optional<net::callback_timer> pulse_;
    net::backoff retries_;
};

}  // namespace pawl::redis
