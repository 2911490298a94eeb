// One call of run_partitions(): a member with its number, its claims and its bodies.
//
// A driver: it does what the machine of src/lease/sharing says. Everything here runs on the loop.
#pragma once

#include "lease/sharing.hpp"
#include "net/attachment.hpp"
#include "net/boot_timer.hpp"
#include "net/loop.hpp"
#include "runtime/bodies.hpp"
#include "runtime/engine.hpp"

#include <pawl/lease.hpp>
#include <pawl/partition.hpp>

#include <boost/asio/awaitable.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::runtime {

// What the loop awaits while a partition is held. `held` lasts until it has ended; what it throws
// ends the share. One that is destroyed with the loop ends its work by itself, and may request
// `give_up` for that.
using partition_task = std::function<boost::asio::awaitable<void>(partition mine, lease& held,
                                                                  std::stop_source give_up)>;
// Has a thread of its own for each partition that is held.
partition_task on_threads(partition_body body);

class partition_runner : public net::attached,
                         public std::enable_shared_from_this<partition_runner> {
public:
    struct parts {
        std::shared_ptr<engine> home;
        std::string name;
        std::uint32_t count;
        partition_options options;
        std::stop_token shutdown;
        partition_task task;
    };
    static std::shared_ptr<partition_runner> make(net::loop& where, parts made_of);
    explicit partition_runner(parts made_of);

    // Await it on the loop. Ends when it was shut down and everything is released, or threw: what a
    // task threw, or store_error.
    static boost::asio::awaitable<bool> run(std::shared_ptr<partition_runner> self);
    void loop_ends() override {}

private:
    // A partition that is held, from the grant to the release.
    struct held_partition {
        explicit held_partition(lease won)
            : held{std::move(won)}, told{give_up.get_token(), held.stop_token()} {}

        lease held;
        std::stop_source give_up;
        combined_stop told;
    };

    // Does one step; false when there is nothing to do until something happens.
    bool perform(const leasing::sharing::step& step);
    lease_options membership_options() const;
    std::string key_of(std::uint32_t which) const;
    double uniform() { return std::uniform_real_distribution<double>{0.0, 1.0}(random_); }
    void spawn(boost::asio::awaitable<void> work);

    static boost::asio::awaitable<void> look(std::shared_ptr<partition_runner> self);
    static boost::asio::awaitable<void> announce(std::shared_ptr<partition_runner> self,
                                                 std::uint32_t member_number);
    static boost::asio::awaitable<void> claim(std::shared_ptr<partition_runner> self,
                                              std::uint32_t which, std::stop_token called_off);
    static boost::asio::awaitable<void> serve(std::shared_ptr<partition_runner> self,
                                              std::uint32_t which);
    static boost::asio::awaitable<void> leave(std::shared_ptr<partition_runner> self);

    // Constant after construction
    const parts made_of_;
    const std::string members_;  // what the keys of members begin with
    std::shared_ptr<net::attachment> attachment_;
    // State, on the loop
    leasing::sharing machine_;
    net::boot_timer timer_;
    std::optional<lease> membership_;
    std::vector<std::stop_source> claims_;
    std::vector<std::unique_ptr<held_partition>> held_partitions_;
    std::exception_ptr thrown_;
    std::minstd_rand random_;
};

}  // namespace pawl::runtime
