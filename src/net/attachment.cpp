#include "net/attachment.hpp"

namespace pawl::net {

std::shared_ptr<attachment> attachments::attach(std::weak_ptr<attached> what) {
    auto rope = std::make_shared<attachment>(where_);
    const std::lock_guard lock{mutex_};
    std::erase_if(ties_, [](const tie& old) { return old.what.expired(); });
    ties_.push_back({rope, std::move(what)});
    return rope;
}

void attachments::shutdown() {
    own_->cut();
    std::vector<tie> ties;
    {
        const std::lock_guard lock{mutex_};
        ties.swap(ties_);
    }
    for (const auto& one : ties) {
        one.rope->cut();
        if (const auto object = one.what.lock()) object->loop_ends();
    }
}

}  // namespace pawl::net
