// A service whose requests are authorized with credentials that end, and sent over connections that
// are kept.
#pragma once

#include "net/https/https_pool.hpp"
#include "net/https/server_clock.hpp"
#include "net/refreshed.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace pawl::net {

// What a rejection is answered with, once.
enum class remedy { none, other_keys, other_time };

// On its loop only. `Keys` is one set of credentials.
template <class Keys>
class authorized_service : public std::enable_shared_from_this<authorized_service<Keys>> {
public:
    virtual ~authorized_service() { pool_->close(); }
    authorized_service(const authorized_service&) = delete;
    authorized_service& operator=(const authorized_service&) = delete;

    // As https_pool::ask(). Keys that the service finds too old, and a clock that it finds wrong,
    // are put right, and it is asked once more: it has done nothing.
    async<https_response> ask(https_request request, instant until);

    // Which credentials are used, and the certificate.
    std::vector<finding> examine() const {
        std::vector<finding> found;
        found.push_back({severity::ok, "credentials", "from " + keys_->source()});
        if (auto certificate = pool_->examine_tls()) found.push_back(std::move(*certificate));
        return found;
    }

protected:
    authorized_service(loop& where, https_settings at, std::shared_ptr<refreshed<Keys>> keys)
        : pool_{https_pool::make(where, std::move(at))}, keys_{std::move(keys)}, clock_{where} {}

    // How the service takes time to be.
    const server_clock& clock() const noexcept { return clock_; }

private:
    virtual result<https_request> authorize(https_request request, const Keys& keys) const = 0;
    virtual remedy find_remedy(const https_response& answer, const Keys& used) const = 0;

    // Constant after construction
    const std::shared_ptr<https_pool> pool_;
    const std::shared_ptr<refreshed<Keys>> keys_;
    // State
    server_clock clock_;
};

template <class Keys>
async<https_response> authorized_service<Keys>::ask(https_request request, instant until) {
    const auto self = this->shared_from_this();
    for (bool again = false;; again = true) {
        auto getting = keys_->get(until);
        const auto keys = co_await std::move(getting);
        if (keys.has_error()) co_return keys.error();
        auto ready = authorize(request, *keys);
        if (ready.has_error()) co_return ready.error();
        auto asking = pool_->ask(std::move(*ready), until);
        auto answer = co_await std::move(asking);
        if (answer.has_error()) co_return answer;
        clock_.hear(*answer);
        const auto what = find_remedy(*answer, *keys);
        if (what == remedy::none || again) co_return answer;
        if (what == remedy::other_keys) keys_->forget();
        if (what == remedy::other_time) clock_.correct();
    }
}

}  // namespace pawl::net
