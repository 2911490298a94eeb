// The watch by which an API server tells which Lease objects change: one for all who wait.
#pragma once

#include "engines/kubernetes/client/api.hpp"
#include "net/change_listener.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace pawl::kubernetes {

// Names are those of objects. A wait is confirmed once the server tells what changes from then on.
// Used on its loop only, but for close_from_anywhere.
class change_stream : public net::change_listener {
public:
    // Of the objects that `selector`, a labelSelector, chooses.
    static std::shared_ptr<change_stream> make(net::loop& where, std::shared_ptr<api> server,
                                               std::string selector, millis timeout);
    // Use make().
    change_stream(net::loop& where, std::shared_ptr<api> server, std::string selector,
                  millis timeout);

private:
    async<void> open() override;
    boost::asio::awaitable<void> listen() override;
    void disconnect() override { lines_.reset(); }
    bool may_pass(const failure& why) const override { return pawl::may_pass(why.code); }
    void name_came(const std::string& name, place& where) override;
    millis confirmation_bound() const override { return timeout_; }
    failure unconfirmed() const override;
    void loop_ends() override;

    // Constant after construction
    net::loop& where_;
    const std::shared_ptr<api> server_;
    const std::string selector_;  // encoded
    const millis timeout_;
    // On the loop only
    std::shared_ptr<net::https_pool::lines> lines_;
};

}  // namespace pawl::kubernetes
