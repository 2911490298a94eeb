// What a MySQL or MariaDB says of itself, judged for leases: the findings of `pawl doctor`.
#pragma once

#include "engines/mysql/client/pool.hpp"

#include <pawl/spi/examination.hpp>

#include <string>

namespace pawl::mysql {

// What to ask, as one text.
std::string report_text();

examination read_report(const mysql_settings& settings, const session_facts& session,
                        response& told);

}  // namespace pawl::mysql
