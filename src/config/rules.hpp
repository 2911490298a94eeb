// What does not go together, once every value by itself is right.
#pragma once

#include "config/values.hpp"

#include <string_view>

namespace pawl::config {

// Where the keys of one job stand: its own, else those of [defaults], else its table.
struct job_origins {
    const origins& own;
    const origins& defaults;
    place table;

    place of(std::string_view key) const;
    bool is_own(std::string_view key) const { return own.contains(key); }
};

void check_job(const job_settings& job, const job_origins& where, findings& found);
// What people are shown of a job is published in the journal, which bounds that. Once its env_file
// was read.
void check_published(const job_settings& job, const job_origins& where, findings& found);
// Gives a job that runs on each node the name that it has on this one.
void name_for_node(job_settings& job, const std::string& node, const job_origins& where,
                   findings& found);

// `store` is the URL in effect, which may come from elsewhere than the file.
void check_outage(const job_settings& job, const job_origins& where, std::string_view store,
                  findings& found);
void check_memory(const job_settings& job, const job_origins& where, std::string_view store,
                  findings& found);

// The agent and its users.
void check_agent(const settings& values, const origins& agent_keys, findings& found);

}  // namespace pawl::config
