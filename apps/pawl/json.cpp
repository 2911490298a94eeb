// Boost's JSON, as a part of the program.
#include <boost/json/src.hpp>
