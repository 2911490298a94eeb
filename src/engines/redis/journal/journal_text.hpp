// The journal's rows as they lie in Redis (docs/stores/redis.md), read back.
#pragma once

#include "engines/redis/client/resp.hpp"

#include <pawl/spi/journal.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::redis {

// The word of a mode in a row.
std::string_view word_of(delivery mode) noexcept;

// The value of a field of a row; empty where it is missing.
std::string_view value_in(const reply& row, std::string_view field) noexcept;

std::optional<std::uint64_t> number_in(std::string_view text) noexcept;

// Each is empty for what no journal wrote. A row is an array of field, value, field, value.
std::optional<run_record> read_run(const reply& row);
std::optional<job_entry> read_job(const std::string& name, const reply& row);
std::optional<node_entry> read_node(const std::string& id, const reply& row, std::int64_t now);

// Texts are lists of journals::pack. The first part of those that a script writes is its clock.
std::optional<run_event> read_event(std::string_view text);
std::string text_of(const run_trigger& what);
std::optional<run_trigger> read_trigger(const std::string& id, std::string_view text);
std::string text_of(const job_pause& what);
std::optional<job_pause> read_pause(const std::string& job, std::string_view text);
std::string text_of(const audit_entry& entry);
std::optional<audit_entry> read_audit(std::string_view text);

}  // namespace pawl::redis
