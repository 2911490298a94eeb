// What the ensemble says of its own health.
#include "stores/zookeeper/tree_store.hpp"

namespace pawl::zookeeper {

async<examination> tree_store::examine() {
    const auto self = shared_from_this();
    examination seen;
    co_return seen;
}

}  // namespace pawl::zookeeper
