// From a configured job to what the dispatcher runs, and to its published definition.
#pragma once

#include "agent/command_body.hpp"
#include "config/settings.hpp"
#include "schedule/job/job_plan.hpp"

#include <boost/json/fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace pawl::agent {

// Everything but values of variables, which may be secrets.
boost::json::object describe(const config::job_settings& job);

std::shared_ptr<const schedule::job_plan> plan_of(
    std::shared_ptr<const config::job_settings> job, const std::string& node,
    const std::shared_ptr<const command_context>& around);

// Those that a lease cannot be kept for as configured, in this store: one line each, by job.
std::vector<std::string> lease_faults(const config::settings& configured,
                                      const store_traits& traits, safety_class safety);

// How the lease of a job's runs is kept.
lease_options lease_of(const config::job_settings& job);

}  // namespace pawl::agent
