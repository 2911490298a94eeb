// A module for the tests of what loads them; CMake builds it once for each thing that can be wrong.
#include <pawl/spi/module.hpp>

#if defined(PAWL_TRIAL_ENTRYLESS)
extern "C" const int pawl_of_no_engine = 1;
#elif defined(PAWL_TRIAL_NEXT)
// As a later pawl's: nothing but the number may be looked at.
extern "C" const std::uint32_t pawl_engine_interface = pawl::engine_interface + 1;
extern "C" const pawl::engine_module* pawl_engine_module() { __builtin_trap(); }
#else

#include "map_store.hpp"

#include <boost/asio/io_context.hpp>

// As a library's own state, which another module may have of another version.
namespace trial_library {
inline std::string opened_by = PAWL_TRIAL_NAME;
}

namespace {

// What this module's copy of Asio makes of an executor of the program's.
std::string view_of(const boost::asio::any_io_executor& given) {
    const auto* executor = given.target<boost::asio::io_context::executor_type>();
    if (executor == nullptr) return "of no io_context";
    if (boost::asio::any_io_executor{*executor} != given) return "unequal to itself";
    return executor->running_in_this_thread() ? "on its loop" : "off its loop";
}

pawl::engine_plan plan(std::string_view url) {
    const auto what = url.substr(url.find(':') + 1);
    pawl::engine_plan plan;
    if (what == "store")
        plan.make = [](const pawl::engine_context&) {
            return std::make_shared<example::map_store>(std::make_shared<example::key_records>(),
                                                        pawl::store_settings{});
        };
    else if (what == "denied")
        plan.make = [](const pawl::engine_context& where) -> std::shared_ptr<pawl::lease_store> {
            throw pawl::store_error{
                {pawl::errc::denied, trial_library::opened_by + " " + view_of(where.executor)}};
        };
    else
        throw pawl::option_error{"planned " + std::string{url}};
    return plan;
}

}  // namespace

#if defined(PAWL_TRIAL_FOREIGN)
PAWL_ENGINE_MODULE(pawl::engine_module{.built_with = "0.0.9",
                                       .engines = {{"foreign", {"foreign"}, "", plan}}});
#else
PAWL_ENGINE_MODULE(pawl::engine_module{
    .engines = {{PAWL_TRIAL_NAME, {PAWL_TRIAL_NAME, PAWL_TRIAL_NAME "+tls"}, "", plan}}});
#endif
#endif
