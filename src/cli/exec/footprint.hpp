// Gives pages back to the system in a process that waits for long.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace pawl::cli {

// Gives the pages that were only read, of this program and its libraries, back to the kernel: it
// reads them again from its cache when they are needed. Thread-safe, takes a millisecond; where the
// kernel does not tell, it does nothing.
void give_text_back() noexcept;

// The same once a second has passed: what is over by then does not pay for it.
boost::asio::awaitable<void> give_text_back_later();

}  // namespace pawl::cli
