#include "engines/redlock/store/vote_scripts.hpp"

#include "redlock_accept_lua.hpp"
#include "redlock_acquire_lua.hpp"
#include "redlock_confirm_lua.hpp"
#include "redlock_force_release_lua.hpp"
#include "redlock_guard_lua.hpp"
#include "redlock_prepare_lua.hpp"
#include "redlock_release_lua.hpp"
#include "redlock_renew_lua.hpp"
#include "redlock_top_up_lua.hpp"
#include "redlock_watch_lua.hpp"
#include "redlock_withdraw_lua.hpp"

namespace pawl::redlock {
namespace {

std::string behind_the_guard(std::string_view body) {
    return redis::behind_whole_since(std::string{embedded::redlock_guard_lua}.append(body));
}

}  // namespace

vote_scripts::vote_scripts()
    : acquire_text_{behind_the_guard(embedded::redlock_acquire_lua)},
      confirm_text_{behind_the_guard(embedded::redlock_confirm_lua)},
      renew_text_{behind_the_guard(embedded::redlock_renew_lua)},
      top_up_text_{behind_the_guard(embedded::redlock_top_up_lua)},
      prepare_text_{behind_the_guard(embedded::redlock_prepare_lua)},
      accept_text_{behind_the_guard(embedded::redlock_accept_lua)},
      watch_text_{redis::behind_record(embedded::redlock_watch_lua)},
      acquire{acquire_text_},
      confirm{confirm_text_},
      renew{renew_text_},
      top_up{top_up_text_},
      prepare{prepare_text_},
      accept{accept_text_},
      withdraw{embedded::redlock_withdraw_lua},
      release{embedded::redlock_release_lua},
      force_release{embedded::redlock_force_release_lua},
      watch{watch_text_} {}

const vote_scripts& vote_scripts::all() {
    static const vote_scripts known;
    return known;
}

}  // namespace pawl::redlock
