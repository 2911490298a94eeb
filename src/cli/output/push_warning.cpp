#include "cli/output/push_warning.hpp"

#include "cli/output/output.hpp"

#include <utility>

namespace pawl::cli {
namespace {

class push_warning final : public observer {
public:
    explicit push_warning(std::shared_ptr<observer> inner) : inner_{std::move(inner)} {}

    void on_acquire(std::string_view key, acquire_outcome outcome, millis waited) override {
        inner_->on_acquire(key, outcome, waited);
    }
    void on_renew(std::string_view key, bool renewed, int failures) override {
        inner_->on_renew(key, renewed, failures);
    }
    void on_renewal_failures(std::string_view key, int failures, millis left) override {
        inner_->on_renewal_failures(key, failures, left);
    }
    void on_lost(std::string_view key, fence_token token, loss_reason why) override {
        inner_->on_lost(key, token, why);
    }
    void on_release(std::string_view key, fence_token token, millis held_for) override {
        inner_->on_release(key, token, held_for);
    }
    void on_store_failure(std::string_view operation, const failure& why) override {
        inner_->on_store_failure(operation, why);
        if (operation != "wait_change") return;
        log(log_level::warn,
            "store notifications unavailable, waiting clients poll once a second: " + why.detail);
    }

private:
    std::shared_ptr<observer> inner_;
};

}  // namespace

std::shared_ptr<observer> warning_of_pushes(std::shared_ptr<observer> inner) {
    return std::make_shared<push_warning>(std::move(inner));
}

}  // namespace pawl::cli
