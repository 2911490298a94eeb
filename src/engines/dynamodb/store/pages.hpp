// Many records at once: in byte order of their keys, out of sixteen buckets that are each in order;
// and by their names.
#pragma once

#include "engines/dynamodb/store/table.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pawl::dynamodb {

async<cas::listing> list_records(std::shared_ptr<table> on, place_of_items place,
                                 cas::list_order what, instant until);

// Each in its place.
async<std::vector<cas::seen>> read_records(std::shared_ptr<table> on, place_of_items place,
                                           std::vector<cas::record_name> names, instant until);

}  // namespace pawl::dynamodb
