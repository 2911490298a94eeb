// A module for the tests of what loads them; CMake builds it once for each thing that can be wrong.
#include <pawl/spi/module.hpp>

#if defined(PAWL_TRIAL_ENTRYLESS)
extern "C" const int pawl_of_no_engine = 1;
#elif defined(PAWL_TRIAL_NEXT)
// As a later pawl's: nothing but the number may be looked at.
extern "C" const std::uint32_t pawl_engine_interface = pawl::engine_interface + 1;
extern "C" const pawl::engine_module* pawl_engine_module() { __builtin_trap(); }
#else
namespace {

pawl::engine_plan plan(std::string_view url) {
    throw pawl::option_error{"planned " + std::string{url}};
}

}  // namespace

#if defined(PAWL_TRIAL_FOREIGN)
PAWL_ENGINE_MODULE(pawl::engine_module{.built_with = "0.0.9",
                                       .engines = {{"foreign", {"foreign"}, "", plan}}});
#else
PAWL_ENGINE_MODULE(pawl::engine_module{
    .engines = {{"fitting", {"fitting", "fitting+tls"}, "", plan}}});
#endif
#endif
