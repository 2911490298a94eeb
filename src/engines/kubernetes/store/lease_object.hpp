// A record as a Lease object of Kubernetes: what of it is the core's text, and what others see.
//
// The text stands in an annotation. The spec is filled as client-go fills it, so that `kubectl get
// lease` shows the holder, and electors of other programs wait for it. They may also take the
// object over when the lease is past: then the spec is theirs, and the text beside it is old.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "engines/cas/store/record_text.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::kubernetes {

using cas::micros;

// Of the Date of an answer.
constexpr micros clock_step{std::chrono::seconds{1}};

// The spec of a Lease; empty texts and zeros where it has none.
struct lease_spec {
    std::string holder;            // holderIdentity
    std::int64_t duration_s = 0;   // leaseDurationSeconds
    std::string acquired;          // acquireTime
    std::string renewed;           // renewTime
    std::int64_t transitions = 0;  // leaseTransitions
};

struct lease_object {
    std::string name;
    std::string uid;
    std::string resource_version;
    std::string key;    // of the annotation; empty: there is none
    std::string text;   // what the core wrote last; empty: nothing yet
    std::string wrote;  // the mark of the spec beside it
    lease_spec spec;
};

// Nothing: this is no Lease.
std::optional<lease_object> parse_object(std::string_view json);
// The items of a LeaseList, and where the rest of them is.
struct object_list {
    std::vector<lease_object> objects;
    std::string resource_version;
    std::string more;  // the `continue` for the next request; empty: these are all
};
std::optional<object_list> parse_list(std::string_view json);
// One line of a watch.
struct object_event {
    std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
    std::string name;
    std::string resource_version;
};
std::optional<object_event> parse_event(std::string_view json);

// Names a state of an object, and holds what the next write needs to know of it: the server's
// version of it, its uid, its transitions, its holder, and whether another program wrote these.
struct object_version {
    std::string resource_version;
    std::string uid;
    std::int64_t transitions = 0;
    std::string holder;
    bool is_taken_over = false;
};
cas::version version_of(const lease_object& object);
std::optional<object_version> parse_version(const cas::version& text);

// Whether another program wrote the spec after us.
bool is_taken_over(const lease_object& object);

// What the core is told of the object of a lease. Where another program has taken it over and holds
// it: a lease that ends one duration after `clock`, whatever its renewTime says, which is from that
// program's own clock. `trusted`: by how much that may be wrong, so that renewTime counts.
std::string text_for_core(const lease_object& object, const std::optional<cas::stamp>& clock,
                          std::optional<millis> trusted);

// 2026-11-24T23:59:59.123456Z, the server's form of a MicroTime.
std::string micro_time(micros since_epoch);

// Bodies of requests. `now` is the store's clock, about. What another program holds keeps its spec:
// by that its electors count, and know themselves.
std::string body_of_create(std::string_view name_space, const cas::record_name& record,
                           const std::string& name, const std::string& text, micros now);
std::string body_of_patch(std::string_view name_space, const cas::record_name& record,
                          const std::string& text, const object_version& expected, micros now);
std::string body_of_delete(const object_version& expected);

}  // namespace pawl::kubernetes
