#include "engines/redis/store/scripts.hpp"

#include "acquire_lua.hpp"
#include "fence_lua.hpp"
#include "force_release_lua.hpp"
#include "index_lua.hpp"
#include "inspect_lua.hpp"
#include "inspect_many_lua.hpp"
#include "list_lua.hpp"
#include "record_lua.hpp"
#include "release_lua.hpp"
#include "renew_lua.hpp"
#include "sweep_lua.hpp"
#include "watch_lua.hpp"
#include "whole_since_lua.hpp"
#include "withdraw_lua.hpp"

namespace pawl::redis {

std::string behind_whole_since(std::string_view script) {
    return std::string{embedded::whole_since_lua}.append(script);
}

std::string behind_record(std::string_view script) {
    return std::string{embedded::record_lua}.append(script);
}

namespace {

std::string behind_index(std::string_view script) {
    return std::string{embedded::index_lua}.append(script);
}

}  // namespace

scripts::scripts()
    : acquire_text_{behind_whole_since(embedded::acquire_lua)},
      fence_text_{behind_whole_since(embedded::fence_lua)},
      release_text_{behind_record(embedded::release_lua)},
      watch_text_{behind_record(embedded::watch_lua)},
      list_text_{behind_index(embedded::list_lua)},
      sweep_text_{behind_index(embedded::sweep_lua)},
      acquire{acquire_text_},
      withdraw{embedded::withdraw_lua},
      renew{embedded::renew_lua},
      release{release_text_},
      force_release{embedded::force_release_lua},
      inspect{embedded::inspect_lua},
      inspect_many{embedded::inspect_many_lua},
      list{list_text_},
      sweep{sweep_text_},
      watch{watch_text_},
      fence{fence_text_} {}

const scripts& scripts::all() {
    static const scripts known;
    return known;
}

}  // namespace pawl::redis
