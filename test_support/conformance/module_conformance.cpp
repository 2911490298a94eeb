// The laws, of an engine that comes as a module: of the one that PAWL_CONFORMANCE_STORE names, such
// as map:{losses}, where {losses} becomes how often the data has been lost.
#include "assembly/engines.hpp"
#include "test_support/conformance/store_laws.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace pawl::conformance {
namespace {

class module_engine {
public:
    static std::string_view name() { return "module"; }
    static constexpr store_reach reach() { return store_reach::one_process; }

    module_engine() {
        const char* const url = std::getenv("PAWL_CONFORMANCE_STORE");
        if (url == nullptr)
            throw std::runtime_error{"PAWL_CONFORMANCE_STORE names no store, such as map:{losses}"};
        url_ = url;
        if (url_.find(losses_mark) == std::string::npos)
            throw std::runtime_error{"PAWL_CONFORMANCE_STORE has no {losses} in it: " + url_};
    }

    std::string address() const {
        auto url = url_;
        return url.replace(url.find(losses_mark), losses_mark.size(), std::to_string(losses_));
    }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        const auto joint = address.find('?') == std::string::npos ? "?" : "&";
        return assembly::plan_store(address + joint + query(settings)).make(where);
    }
    // It has no server.
    void restart() {}
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

INSTANTIATE_TYPED_TEST_SUITE_P(module, StoreLaws, module_engine);

}  // namespace
}  // namespace pawl::conformance
