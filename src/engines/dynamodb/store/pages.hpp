// Records in byte order of their keys, out of sixteen buckets that are each in order.
#pragma once

#include "engines/dynamodb/store/table.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace pawl::dynamodb {

async<cas::listing> list_records(std::shared_ptr<table> on, place_of_items place,
                                 cas::list_order what, instant until);

}  // namespace pawl::dynamodb
