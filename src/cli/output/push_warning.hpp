// Tells people, once, that the store does not push changes to those who wait for a key.
#pragma once

#include <pawl/observer.hpp>

#include <memory>

namespace pawl::cli {

// Around an observer that hears everything as well. The engine tells of a push that fails once
// until one has come again.
std::shared_ptr<observer> warning_of_pushes(std::shared_ptr<observer> inner);

}  // namespace pawl::cli
