// The table: what it has to be like, and how it is asked. On the loop only.
#pragma once

#include "engines/aws/client/service.hpp"
#include "engines/cas/store/medium.hpp"
#include "engines/dynamodb/store/error_mapping.hpp"
#include "engines/dynamodb/store/items.hpp"
#include "net/loop.hpp"

#include <boost/json/object.hpp>

#include <memory>
#include <optional>
#include <string>

namespace pawl::dynamodb {

// A whole answer. With `failed_condition` it is the one that says so, and with `no_table` it says
// that there is none.
struct reply {
    boost::json::object body;
    std::optional<cas::stamp> clock;
    bool failed_condition = false;
    std::optional<failure> no_table{};
};

// What DescribeTable says.
struct table_facts {
    std::string status;  // such as ACTIVE
    std::string identity;
    std::string billing;  // PROVISIONED or PAY_PER_REQUEST
    std::int64_t write_units = 0;
    bool replicated = false;
    bool has_our_keys = false;
    bool protects_deletion = false;
};
table_facts read_table(const boost::json::object& description);

class table : public std::enable_shared_from_this<table> {
public:
    table(net::loop& where, std::shared_ptr<aws::service> service, std::string region,
          std::string name);

    // dynamodb://REGION/TABLE.
    const std::string& place() const noexcept { return place_; }
    aws::service& service() const noexcept { return *service_; }

    // `operation` is the name of a call of DynamoDB's API. After a call that did not find the table
    // it is made sure first that it is the same.
    async<reply> ask(const char* operation, boost::json::object body, effect what, instant until);

    // Makes it where there is none, and waits until it can be used. Its identity.
    async<std::string> prepare(instant until);
    async<table_facts> describe(instant until);
    // It was found, or made, before.
    bool is_known() const noexcept { return !identity_.empty(); }
    bool has_answered() const noexcept { return has_answered_; }

private:
    async<reply> send(const char* operation, boost::json::object body, effect what, instant until);
    struct table_status {
        table_facts facts;
        std::optional<failure> no_table{};
    };
    async<table_status> look(instant until);
    async<void> make_sure(instant until);
    async<void> create(instant until);
    failure reject(const table_facts& facts) const;

    // Constant after construction
    net::loop& where_;
    const std::shared_ptr<aws::service> service_;
    const std::string region_;
    const std::string name_;
    const std::string place_;
    // On the loop only
    std::string identity_;
    bool doubtful_ = false;  // it was not found
    bool has_answered_ = false;
};

}  // namespace pawl::dynamodb
