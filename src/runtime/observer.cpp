#include <pawl/observer.hpp>

namespace pawl {

std::string_view name_of(acquire_outcome outcome) noexcept {
    switch (outcome) {
        case acquire_outcome::granted:
            return "granted";
        case acquire_outcome::busy:
            return "busy";
        case acquire_outcome::already_done:
            return "already_done";
        case acquire_outcome::error:
            return "error";
    }
    return "error";
}

std::string_view name_of(loss_reason reason) noexcept {
    switch (reason) {
        case loss_reason::taken:
            return "taken";
        case loss_reason::validity_ended:
            return "validity_ended";
        case loss_reason::lifetime_ended:
            return "lifetime_ended";
        case loss_reason::closed:
            return "closed";
    }
    return "taken";
}

}  // namespace pawl
