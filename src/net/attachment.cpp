#include "net/attachment.hpp"

namespace pawl::net {

attachments& attachments::of(const boost::asio::any_io_executor& executor) {
    return boost::asio::use_service<attachments>(boost::asio::query(
        executor, boost::asio::execution::context_as<boost::asio::execution_context&>));
}

std::shared_ptr<attachment> attachments::own(const boost::asio::any_io_executor& where) {
    const std::lock_guard lock{mutex_};
    if (!own_) own_ = std::make_shared<attachment>(where);
    return own_;
}

std::shared_ptr<attachment> attachments::attach(const boost::asio::any_io_executor& where,
                                                std::weak_ptr<attached> what) {
    auto handle = std::make_shared<attachment>(where);
    const std::lock_guard lock{mutex_};
    std::erase_if(registrations_, [](const registration& old) { return old.what.expired(); });
    registrations_.push_back({handle, std::move(what)});
    return handle;
}

void attachments::shutdown() {
    std::shared_ptr<attachment> own;
    std::vector<registration> registrations;
    {
        const std::lock_guard lock{mutex_};
        own = own_;
        registrations.swap(registrations_);
    }
    if (own) own->cut();
    for (const auto& one : registrations) {
        one.handle->cut();
        if (const auto object = one.what.lock()) object->loop_ends();
    }
}

}  // namespace pawl::net
