// A function of the program as the body of a run: on a thread of its own, told to stop by a token.
//
// A thread cannot be killed. So what is promised of a command does not hold of a function: one that
// does not heed its token goes on beside its successor, and only the fencing token tells the two
// apart.
#pragma once

#include "net/attachment.hpp"
#include "net/blocking_pool.hpp"
#include "net/loop.hpp"
#include "schedule/job/body.hpp"

#include <pawl/job.hpp>

#include <memory>
#include <stop_token>

namespace pawl::runtime {
class link;
}

namespace pawl::schedule {

// Where the functions of one scheduler run.
struct function_context {
    net::loop& where;
    std::shared_ptr<runtime::link> home;
    std::shared_ptr<net::attachment> to_loop;
    std::shared_ptr<net::blocking_pool> threads;
    std::stop_source ending;  // of the context in which all of it runs
};

// The loop outlives what runs.
body_maker function_bodies(std::shared_ptr<const function_context> around,
                           std::shared_ptr<const pawl::job> what);

}  // namespace pawl::schedule
