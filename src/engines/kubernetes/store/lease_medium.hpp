// Records as Lease objects in one namespace of a cluster: what the core of compare-and-swap stores
// reads and writes there.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "engines/kubernetes/client/api.hpp"
#include "engines/kubernetes/store/change_stream.hpp"
#include "engines/kubernetes/store/lease_object.hpp"
#include "net/loop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::kubernetes {

struct medium_settings {
    std::string name_space;           // pawl's
    millis timeout{2000};             // of what a waiter asks
    std::optional<millis> trusted{};  // see text_for_core()
};

class lease_medium final : public cas::medium {
public:
    lease_medium(net::loop& where, std::shared_ptr<api> server, medium_settings settings);
    ~lease_medium() override;

    cas::medium_traits traits() const noexcept override;
    std::string place() const override;
    async<std::string> prepare(instant until) override;
    async<cas::seen> read(cas::record_name name, instant until) override;
    async<cas::write_answer> write(cas::change what, instant until) override;
    async<cas::write_answer> erase(cas::record_name name, cas::version expected,
                                   instant until) override;
    async<cas::listing> list(cas::list_order what, instant until) override;
    async<void> watch(cas::record_name name, cas::version known) override;
    async<examination> examine(instant until) override;

private:
    std::string object_of(const cas::record_name& name) const;
    failure fault(errc code, const std::string& what) const;
    std::optional<cas::stamp> hear(const net::https_response& told);
    micros clock_now() const;
    // What the answer to a write says.
    result<cas::write_answer> settle(verb what, const net::https_response& told);
    result<cas::seen> understand(const cas::record_name& name, const lease_object& object,
                                 const std::optional<cas::stamp>& clock) const;
    async<std::vector<lease_object>> all(cas::record_kind kind, instant until,
                                         std::optional<cas::stamp>& clock);
    async<std::string> missing_permissions(instant until);

    // Constant after construction
    net::loop& where_;
    const std::shared_ptr<api> server_;
    const medium_settings settings_;
    const std::shared_ptr<change_stream> changes_;
    // On the loop only
    std::optional<cas::stamp> newest_;
};

}  // namespace pawl::kubernetes
