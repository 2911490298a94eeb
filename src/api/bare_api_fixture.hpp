// The API as a whole, over a store in memory, without its server and without anyone who may in.
#pragma once

#include "api/api.hpp"
#include "engines/memory/store/memory_store.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace pawl::api {

class BareApi : public testing::Test {
protected:
    explicit BareApi(runtime::journal_maker keep = {})
        : core_{[](net::loop& where) {
                    // Those of one process share their data, and tests do not.
                    static int so_many = 0;
                    store_settings own;
                    own.name_space = "bare-" + std::to_string(++so_many);
                    return pawl::memory::make_memory_store(where, own);
                },
                store_settings{}, open_options{}, std::move(keep)} {
        around_->core = &core_;
        around_->records = core_.run_journal();
        around_->instruments =
            std::make_shared<metrics::instruments>(metrics::build_facts{"1", "", ""});
        authorizer::parts auth;
        auth.loop = &core_.loop();
        api::parts parts;
        parts.around = around_;
        parts.auth = std::make_shared<authorizer>(std::move(auth));
        api_ = std::make_shared<api>(std::move(parts));
    }

    runtime::core core_;
    std::shared_ptr<context> around_ = std::make_shared<context>();
    std::shared_ptr<api> api_;
};

}  // namespace pawl::api
