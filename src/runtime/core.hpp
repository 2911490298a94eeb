// What a `locks` object is made of: a loop, and the engine that runs on it.
#pragma once

#include "net/loop.hpp"
#include "runtime/engine.hpp"
#include "runtime/link.hpp"

#include <pawl/locks.hpp>

#include <functional>
#include <memory>

namespace pawl::runtime {

using store_maker = std::function<std::shared_ptr<lease_store>(net::loop&)>;

class core {
public:
    core(const store_maker& make, store_settings settings, open_options options);
    ~core();
    core(const core&) = delete;
    core& operator=(const core&) = delete;

    net::loop& loop() { return loop_; }
    const std::shared_ptr<engine>& running() { return engine_; }

private:
    // First, so that it goes last: coroutines that still run die with it.
    net::loop loop_;
    std::shared_ptr<engine> engine_;
    std::shared_ptr<link> link_;
};

}  // namespace pawl::runtime
