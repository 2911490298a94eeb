// A process on a store_setup: it has a store over the store_setup's medium.
#pragma once

#include "engines/cas/store/make_cas_store.hpp"
#include "test_support/conformance/store_verbs.hpp"
#include "test_support/media/memory_stage.hpp"

#include <memory>
#include <utility>

namespace pawl::testing_media {

// Its store is opened at its first verb.
class actor : public conformance::store_verbs<actor> {
public:
    explicit actor(memory_stage& on) : on_{on} {}

    const std::shared_ptr<lease_store>& store() {
        if (!store_)
            store_ = cas::make_cas_store(on_.where(), on_.settings,
                                         make_memory_medium(on_.where(), on_.table));
        return store_;
    }
    template <class T>
    result<T> end_of(async<T> verb) {
        return on_.end_of(std::move(verb));
    }
    instant now() const { return on_.now(); }
    void pass(millis duration) { on_.pass(duration); }

private:
    memory_stage& on_;
    std::shared_ptr<lease_store> store_;
};

}  // namespace pawl::testing_media
