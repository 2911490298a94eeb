// Records in byte order of their keys, out of sixteen buckets that are each in order.
#pragma once

#include "engines/dynamodb/store/table.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace pawl::dynamodb {

struct list_order {
    list_order(cas::record_kind kind, std::string prefix, std::string after, std::size_t limit)
        : kind{kind}, prefix{std::move(prefix)}, after{std::move(after)}, limit{limit} {}

    cas::record_kind kind;
    std::string prefix;
    std::string after;
    std::size_t limit;
};

async<cas::listing> list_records(std::shared_ptr<table> on, place_of_items place, list_order what,
                                 instant until);

}  // namespace pawl::dynamodb
