#include "net/remote_operation.hpp"

namespace pawl::net {
namespace {

// Hears of the end of a context.
class end_of_context final : public boost::asio::execution_context::service {
public:
    using key_type = end_of_context;
    inline static boost::asio::execution_context::id id;

    explicit end_of_context(boost::asio::execution_context& owner)
        : service{owner}, awaited{std::make_shared<awaited_operations>()} {}

    const std::shared_ptr<awaited_operations> awaited;

private:
    void shutdown() override { awaited->close(); }
};

}  // namespace

std::shared_ptr<awaited_operations> awaited_operations::of(
    boost::asio::execution_context& context) {
    return boost::asio::use_service<end_of_context>(context).awaited;
}

// What is in here is alive: its caller's coroutine, which its handler owns, keeps it.
void awaited_operations::close() noexcept {
    std::unordered_set<awaited_operation*> left;
    {
        const std::lock_guard lock{mutex_};
        closed_ = true;
        left.swap(all_);
    }
    for (auto* one : left) one->request_stop();
    for (auto* one : left) one->abandon();
}

}  // namespace pawl::net
