// The addresses of a host's name, looked up away from the loop, and once for all who ask at a time
// (net/shared_questions.hpp).
#pragma once

#include "net/event.hpp"
#include "net/loop.hpp"

#include <pawl/spi/async.hpp>

#include <boost/asio/ip/address.hpp>

#include <string>
#include <vector>

namespace pawl::net {

// At least one. An address is its own, at once. Ends by the deadline, or when Asio cancels it, with
// errc::unreachable.
async<std::vector<boost::asio::ip::address>> look_up(loop::executor_type executor, std::string host,
                                                     instant deadline);
// The same, and also when `interrupted` is set or notified. It outlives the call.
async<std::vector<boost::asio::ip::address>> look_up(loop::executor_type executor, std::string host,
                                                     instant deadline, event& interrupted);

}  // namespace pawl::net
