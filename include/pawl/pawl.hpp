// Everything of pawl that a program needs. Authors of stores and engines also include <pawl/spi/…>.
#pragma once

#include <pawl/acquired.hpp>
#include <pawl/clock.hpp>
#include <pawl/completion.hpp>
#include <pawl/connections.hpp>
#include <pawl/errors.hpp>
#include <pawl/examination.hpp>
#include <pawl/fence.hpp>
#include <pawl/job.hpp>
#include <pawl/leader.hpp>
#include <pawl/lease.hpp>
#include <pawl/lease_set.hpp>
#include <pawl/locks.hpp>
#include <pawl/mutex.hpp>
#include <pawl/observer.hpp>
#include <pawl/options.hpp>
#include <pawl/partition.hpp>
#include <pawl/policies.hpp>
#include <pawl/results.hpp>
#include <pawl/run_status.hpp>
#include <pawl/scheduler.hpp>
#include <pawl/slot.hpp>
#include <pawl/store.hpp>
#include <pawl/temporary.hpp>
#include <pawl/types.hpp>
#include <pawl/version.hpp>
