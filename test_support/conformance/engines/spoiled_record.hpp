// Records of the engines on compare-and-swap that cannot be read for a while, for the law of those
// that are out of reach.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/store_settings.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace pawl::conformance {

// A lease's record that another program overwrites, and that has its text again at the end.
class spoiled_record {
public:
    using medium_opener = std::function<std::shared_ptr<cas::medium>(net::loop&)>;

    spoiled_record(const medium_opener& open, std::string key)
        : medium_{open(loop_)}, key_{std::move(key)} {
        EXPECT_TRUE(loop_.wait_for(medium_->prepare(later())).has_value());
        const auto before = loop_.wait_for(medium_->read(name(), later())).value();
        text_ = before.text;
        spoiled_ = write("{}", before.at);
    }
    ~spoiled_record() { write(text_, spoiled_); }
    spoiled_record(const spoiled_record&) = delete;
    spoiled_record& operator=(const spoiled_record&) = delete;

private:
    static instant later() { return lease_clock::now() + std::chrono::minutes{1}; }
    cas::record_name name() const { return {cas::record_kind::lease, key_}; }

    cas::version write(const std::string& text, const cas::version& expected) {
        const auto got = loop_.wait_for(medium_->write({name(), text, expected}, later()));
        if (got.has_value())
            if (const auto* done = std::get_if<cas::written>(&*got)) return done->at;
        ADD_FAILURE() << key_ << " was not written";
        return {};
    }

    net::loop loop_;
    const std::shared_ptr<cas::medium> medium_;
    const std::string key_;
    std::string text_;
    cas::version spoiled_;
};

// A server whose records can be spoiled through the medium that `make_medium` makes.
template <class Server, auto make_medium>
class spoils_records : public Server {
public:
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        store_settings common;
        common.name_space = name_space;
        const auto settings = Server::settings_at(this->address(), std::move(common));
        return std::make_shared<spoiled_record>(
            [&](net::loop& where) { return make_medium(where, settings); }, key);
    }
};

}  // namespace pawl::conformance
