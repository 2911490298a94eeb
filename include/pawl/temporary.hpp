// What must have a name before it is awaited.
#pragma once

#include <type_traits>

namespace pawl {

// A temporary that owns something, such as `[invoices](const pawl::term&) {}` where the captured
// object has a destructor. g++ 12 destroys closures and aggregates of this kind twice when they
// stand inside a `co_await` expression. So the `async_` calls accept no such temporary, on any
// compiler: give it a name, and pass that.
// Source: GCC bug 99576.
template <class Type>
concept owning_temporary =
    !std::is_reference_v<Type> && !std::is_trivially_destructible_v<std::remove_cv_t<Type>>;

}  // namespace pawl
