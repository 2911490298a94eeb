// The entry of a module that is made of engines of this source; PAWL_ENGINES is the function that
// tells of them.
#include <pawl/spi/module.hpp>

extern "C" const pawl::engine_module* PAWL_ENGINES();

PAWL_ENGINE_MODULE(*PAWL_ENGINES());
