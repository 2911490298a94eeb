// How the API of an agent ends.
#include "api/service.hpp"

#include "api/bare_api_fixture.hpp"
#include "engines/memory/journal/memory_journal.hpp"
#include "engines/rules/journal/checked_journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::api {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

class ServiceEnd : public BareApi {
protected:
    ServiceEnd()
        : BareApi{[](net::loop& where) {
              return journals::checked(
                  pawl::memory::make_memory_journal(where, "service-end", store_settings{}));
          }} {}

    void act_often(int times) {
        const auto acting = [](shared_context around, int left) -> boost::asio::awaitable<bool> {
            for (; left > 0; --left) audit_often(around, "ci", "lease.acquire", "k", "token 1");
            co_return true;
        };
        core_.loop().wait_for(acting(around_, times));
    }
    std::vector<std::string> details() {
        const auto all = core_.loop().wait_for(around_->records->list_audit(0, 100)).value();
        std::vector<std::string> texts;
        for (const auto& one : all)
            texts.push_back(one.actor + " " + one.action + " " + one.detail);
        return texts;
    }
};

// Goal: what a user did in the last minute of an agent is in the audit. Method: more than is
// written one by one, and an end before the minute is over.
TEST_F(ServiceEnd, WhatWasOnlyCountedIsAudited) {
    service_parts parts;
    parts.around = around_;
    const auto mine = std::make_shared<service>(std::move(parts));
    act_often(15);
    EXPECT_THAT(details(), Not(Contains(StartsWith("ci lease.acquire and"))));
    core_.loop().wait_for(service::stop(mine));
    EXPECT_THAT(details(),
                Contains("ci lease.acquire and 5 more within a minute, which are not listed"));
    core_.loop().wait_for(service::stop(mine));
    EXPECT_EQ(details().size(), 11u) << "each is told once";
}

}  // namespace
}  // namespace pawl::api
