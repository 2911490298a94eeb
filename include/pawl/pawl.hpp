// Everything of pawl that a program needs.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/fence.hpp>
#include <pawl/job.hpp>
#include <pawl/leader.hpp>
#include <pawl/lease.hpp>
#include <pawl/locks.hpp>
#include <pawl/observer.hpp>
#include <pawl/options.hpp>
#include <pawl/partition.hpp>
#include <pawl/scheduler.hpp>
#include <pawl/types.hpp>
