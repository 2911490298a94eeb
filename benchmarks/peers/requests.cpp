#include "benchmarks/peers/requests.hpp"

#include <pawl/clock.hpp>

#include <boost/json.hpp>

#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace pawl::benchmarks {
namespace {

std::vector<nanos> answer(participant& client, const std::string& request) {
    std::istringstream words{request};
    std::string verb, key;
    int first = 0, second = 0;
    words >> verb >> key >> first;
    if (verb == "pairs") {
        std::vector<nanos> times;
        for (int i = 0; i < first; ++i) {
            const auto begun = lease_clock::now();
            client.pair(key);
            times.push_back(lease_clock::now() - begun);
        }
        return times;
    }
    if (verb == "crowd" && words >> second) return {client.crowd(key, first, second)};
    if (verb == "hand-over") return {client.hand_over(key, std::chrono::milliseconds{first})};
    throw std::runtime_error{"unknown request '" + request + "'"};
}

void say(const boost::json::object& what) { std::cout << what << std::endl; }

}  // namespace

nanos participant::crowd(const std::string&, int, int) {
    throw std::runtime_error{"one caller only"};
}

nanos participant::hand_over(const std::string&, std::chrono::milliseconds) {
    throw std::runtime_error{"it does not wait"};
}

int serve(const std::function<std::unique_ptr<participant>()>& open) {
    try {
        const auto client = open();
        for (std::string request; std::getline(std::cin, request);) {
            boost::json::array times;
            for (const auto one : answer(*client, request)) times.push_back(one.count());
            say({{"nanos", std::move(times)}});
        }
        return 0;
    } catch (const std::exception& fault) {
        say({{"error", fault.what()}});
        return 1;
    }
}

}  // namespace pawl::benchmarks
