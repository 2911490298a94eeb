#include "api/jobs/control_look.hpp"

#include "api/route_caches.hpp"

#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;

control_look look_at(control_state seen) {
    control_look made;
    for (auto& one : seen.triggers) {
        made.queued.add(one);
        made.queued_of[one.job].add(one);
        one.arguments = {};
    }
    made.seen = std::move(seen);
    return made;
}

awaitable<control_answer> read(shared_context around) {
    auto reading = around->records->read_control_state();
    auto seen = co_await std::move(reading);
    if (seen.has_error())
        co_return std::make_shared<const result<control_look>>(std::move(seen).error());
    co_return std::make_shared<const result<control_look>>(look_at(std::move(*seen)));
}

}  // namespace

journals::queue_size control_look::queued_of_job(const std::string& name) const {
    const auto found = queued_of.find(name);
    return found == queued_of.end() ? journals::queue_size{} : found->second;
}

awaitable<control_answer> look_at_control(shared_context around) {
    auto& kept = around->remembered->control;
    if (!kept) {
        // What the context remembers must not keep it alive.
        std::weak_ptr<const context> weak = around;
        kept = std::make_shared<single_flight<result<control_look>>>(
            [weak] { return read(weak.lock()); });
    }
    auto asking = single_flight<result<control_look>>::get_anew(kept);
    auto found = co_await std::move(asking);
    co_return found;
}

}  // namespace pawl::api
