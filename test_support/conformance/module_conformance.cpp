// The laws, of the engine that PAWL_CONFORMANCE_URL names: one that comes as a module, such as
// map:, or any other on a server of the reader's own. {run} in the URL becomes something that no
// other run of the suite has, and {losses} how often the data has been lost.
#include "assembly/engines.hpp"
#include "base/identity.hpp"
#include "test_support/conformance/store_laws.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace pawl::conformance {
namespace {

std::string with(std::string url, std::string_view mark, const std::string& value) {
    for (auto at = url.find(mark); at != std::string::npos; at = url.find(mark, at + value.size()))
        url.replace(at, mark.size(), value);
    return url;
}

template <store_reach Reach>
class engine_by_url {
public:
    static std::string_view name() {
        return Reach == store_reach::one_process ? "threads" : "processes";
    }
    static constexpr store_reach reach() { return Reach; }
    // Some servers are far away, and waiters of some look once a second.
    static constexpr std::uint64_t contested_grants = Reach == store_reach::one_process ? 400 : 20;

    engine_by_url() {
        const char* const url = std::getenv("PAWL_CONFORMANCE_URL");
        if (url == nullptr)
            throw std::runtime_error{"PAWL_CONFORMANCE_URL names no store, such as map:{losses}"};
        url_ = with(url, "{run}", base::fresh_id().substr(0, 8));
    }

    std::string address() const { return with(url_, losses_mark, std::to_string(losses_)); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        const auto joint = address.find('?') == std::string::npos ? "?" : "&";
        return assembly::plan_store(address + joint + query(settings)).make(where);
    }
    // It has no server, or one that is not ours to restart.
    void restart() {}
    bool can_lose_data() const { return url_.find(losses_mark) != std::string::npos; }
    void lose_data() { ++losses_; }

private:
    static constexpr std::string_view losses_mark = "{losses}";

    static std::string query(const store_settings& settings) {
        const auto time = [](millis what) { return std::to_string(what.count()) + "ms"; };
        return "namespace=" + settings.name_space + "&timeout=" + time(settings.timeout) +
               "&quarantine=" + (settings.quarantine ? time(*settings.quarantine) : "off") +
               "&max_skew=" + time(settings.max_skew) + "&retention=" + time(settings.retention);
    }

    std::string url_;
    int losses_ = 0;
};

using engine_of_threads = engine_by_url<store_reach::one_process>;
using engine_of_processes = engine_by_url<store_reach::many_processes>;
INSTANTIATE_TYPED_TEST_SUITE_P(threads, StoreLaws, engine_of_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(processes, StoreLaws, engine_of_processes);

}  // namespace
}  // namespace pawl::conformance
