# One target per module. A module links exactly the modules that its arrows in docs/architecture.md name,
# so that a missing arrow fails at the link; tools/check_layers rejects the include.

set(PAWL_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor -Wold-style-cast
                  -Woverloaded-virtual -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these falsely for coroutine frames, std::variant and string sums at -O2.
  list(APPEND PAWL_WARNINGS -Wno-maybe-uninitialized -Wno-mismatched-new-delete -Wno-restrict -Wshadow=local)
else()
  # g++ has no sign conversions in -Wconversion either, and looks for what is deprecated; clang finds it in libstdc++'s
  # own stable_sort. What is embedded is longer than C++ promises to take.
  list(APPEND PAWL_WARNINGS -Wshadow -Wno-sign-conversion -Wno-deprecated-declarations -Wno-overlength-strings)
endif()

add_library(pawl_flags INTERFACE)
target_compile_features(pawl_flags INTERFACE cxx_std_20)
if(PAWL_SANITIZE)
  target_compile_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE} -fno-omit-frame-pointer -g1
                         -fno-sanitize-recover=all)
  # Where each byte has a shadow there is no promise of how many there are.
  target_compile_definitions(pawl_flags INTERFACE PAWL_SANITIZED)
  target_link_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE})
  if(PAWL_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(pawl_flags INTERFACE -Wno-tsan)
  endif()
endif()

function(pawl_compile_options target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:pawl_flags>)
  # Messages name a file within the project, wherever it was built.
  target_compile_options(${target} PRIVATE ${PAWL_WARNINGS} $<$<BOOL:${PAWL_WERROR}>:-Werror>
                         -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
endfunction()

# What computes for long, such as years of cron or thousands of simulated hours, is optimized where the rest is not: a
# little where a sanitizer watches it, else as the product is.
function(pawl_computes)
  set(level -O2)
  if(PAWL_SANITIZE)
    set(level -O1)
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${level})
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()

# For a program of tests. Compilers spend half of their time on optimizing what runs once, and half of the rest on headers
# that all tests begin with. With clang, by which tools/check builds, each test is read without the precompiled ones: what
# a test forgets to include is found there.
function(pawl_compile_test target)
  pawl_compile_options(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE pawl_asio GTest::gtest GTest::gmock)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT PAWL_SANITIZE)
    if(NOT TARGET pawl_test_headers)
      file(WRITE ${PROJECT_BINARY_DIR}/generated/test_headers.cpp "// What the precompiled headers of tests are made for.\nint main() {}\n")
      add_executable(pawl_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/test_headers.cpp)
      pawl_compile_options(pawl_test_headers)
      target_link_libraries(pawl_test_headers PRIVATE pawl_asio GTest::gtest GTest::gmock)
      target_compile_options(pawl_test_headers PRIVATE $<$<CONFIG:Release>:-O0>)
      target_precompile_headers(pawl_test_headers PRIVATE
        <algorithm> <array> <atomic> <chrono> <coroutine> <filesystem> <fstream> <functional> <map> <memory> <mutex>
        <optional> <ranges> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <variant> <vector>
        <gmock/gmock.h> <gtest/gtest.h>
        <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp> <boost/asio/io_context.hpp>
        <boost/asio/post.hpp> <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp>)
    endif()
    target_precompile_headers(${target} REUSE_FROM pawl_test_headers)
    # Without it ccache passes them by.
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# pawl_module(NAME SOURCES a.cpp … [MODULES base …] [LIBRARIES Boost::headers …])
function(pawl_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;MODULES;LIBRARIES" ${ARGN})
  add_library(pawl_${name} STATIC ${MODULE_SOURCES})
  pawl_compile_options(pawl_${name})
  target_include_directories(pawl_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  list(TRANSFORM MODULE_MODULES PREPEND pawl_)
  target_link_libraries(pawl_${name} PUBLIC ${MODULE_MODULES} ${MODULE_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY PAWL_MODULES pawl_${name})
endfunction()

# pawl_test(NAME SOURCES a_test.cpp … LIBRARIES pawl_base … [LABELS unit] [TIMEOUT 300] [SLOTS 1] [ENVIRONMENT …])
# Most tests wait for a lease to end or a server to answer, so tools/test runs four for each core. SLOTS (PROCESSORS, for
# ctest) are quarters of a core: 4 for a test that computes or builds all the time, or that the clock judges.
function(pawl_test name)
  if(NOT PAWL_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "TIMEOUT;SLOTS" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  pawl_compile_test(${name})
  target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if(NOT TEST_SLOTS)
    set(TEST_SLOTS 1)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} PROCESSORS ${TEST_SLOTS} LABELS "${TEST_LABELS}"
                       ENVIRONMENT "${TEST_ENVIRONMENT}")
endfunction()

# pawl_embed(TARGET file.lua …): each file becomes a std::string_view in embedded/NAME_EXT.hpp,
# such as pawl::embedded::acquire_lua.
function(pawl_embed target)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(REPLACE "." "_" symbol ${name})
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(header ${PROJECT_BINARY_DIR}/generated/embedded/${target}/${symbol}.hpp)
    add_custom_command(OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DHEADER=${header} -DSYMBOL=${symbol}
              -P ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake VERBATIM)
    target_sources(${target} PRIVATE ${header})
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated/embedded/${target})
endfunction()
