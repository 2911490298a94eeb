// A change at a server whose answer may be lost: it is asked for once more, so that a caller who
// reports it, or records it, knows what became of it.
#pragma once

#include <pawl/spi/async.hpp>

#include <functional>

namespace pawl::runtime {

enum class change_effect {
    made,
    none,     // there was nothing to change
    settled,  // the first answer was lost, and the second found nothing left to change: the first
              // request has made it, or another client's
    unknown   // no answer to either
};

// `ask` makes the same request each time, and answers whether there was something to change. Fails
// where the request had no effect.
async<change_effect> make_change(std::function<async<bool>()> ask);

}  // namespace pawl::runtime
