// The claim of `pawl exec`, until it is known what becomes of it.
//
// One that the store did not answer may have been granted, and its grant may have marked its
// occurrence. What has run without a lease since is not given back, or another node would run it
// again.
#pragma once

#include "runtime/claimer.hpp"
#include "runtime/core.hpp"

#include <pawl/lease.hpp>
#include <pawl/options.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace pawl::cli {

// Each call drives the loop.
class exec_claim {
public:
    exec_claim(runtime::core& home, std::string key, const lease_options& options)
        : home_{home}, key_{std::move(key)}, options_{options} {}

    // Throws store_error, and option_error. Told to stop it answers as if the key were busy.
    // REQUIRES: called once.
    acquire_result<lease> ask(const wait_policy& waiting, std::stop_token stop);

    // Whether a grant marks an occurrence, which is to be withdrawn when it is known whether that
    // has run.
    bool marks() const {
        return options_.occurrence && options_.delivery == delivery::at_most_once;
    }
    // The mark stays.
    void has_run() { options_.occurrence.reset(); }
    // Begins to give up what was not answered, if that has not been done; a drain waits for it.
    void withdraw();

private:
    runtime::core& home_;
    const std::string key_;
    lease_options options_;
    std::shared_ptr<runtime::kept_claim> kept_;
};

}  // namespace pawl::cli
