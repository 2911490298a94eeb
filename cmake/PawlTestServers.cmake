# Servers that tests build from source want a newer Go than Debian 12 has. Without it the tests that need them are left
# out, and tools/test says so: the only ones that a missing server does not fail.
set(PAWL_LEFT_OUT ${PROJECT_BINARY_DIR}/tests_left_out)
file(REMOVE ${PAWL_LEFT_OUT})

find_program(PAWL_GO go PATHS /usr/local/go/bin)
mark_as_advanced(PAWL_GO)
set(PAWL_HAVE_GO OFF)
if(PAWL_GO)
  execute_process(COMMAND ${PAWL_GO} env GOVERSION OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX REPLACE "^go" "" version "${version}")
  if(version VERSION_GREATER_EQUAL 1.24)
    set(PAWL_HAVE_GO ON)
  endif()
endif()

# pawl_set_up_server(WHAT [NAME]): a test that makes WHAT by test_support/servers/WHAT.recipe before the tests that require the
# fixture WHAT, for as long as that takes. The conformance and crash tests of the engine NAME do.
function(pawl_set_up_server what)
  add_test(NAME set_up_${what} COMMAND ${PROJECT_SOURCE_DIR}/test_support/servers/set_up_server ${what})
  set_tests_properties(set_up_${what} PROPERTIES FIXTURES_SETUP ${what} TIMEOUT 3600 LABELS set_up)
  if(ARGN)
    set_property(GLOBAL PROPERTY PAWL_SERVER_OF_${ARGN} ${what})
  endif()
endfunction()

# pawl_require_server(TEST NAME): the test wants the server of the engine NAME, if that has to be set up.
function(pawl_require_server test name)
  get_property(what GLOBAL PROPERTY PAWL_SERVER_OF_${name})
  if(what AND TEST ${test})
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${what})
  endif()
endfunction()

# pawl_server_by_go(NAME WHAT RESULT): whether the tests of the engine NAME can have WHAT, which test_support/servers/WHAT.recipe
# makes.
function(pawl_server_by_go name what result)
  set(${result} ${PAWL_HAVE_GO} PARENT_SCOPE)
  if(PAWL_HAVE_GO)
    pawl_set_up_server(${what} ${name})
  else()
    set_property(GLOBAL APPEND PROPERTY PAWL_ENGINES_LEFT_OUT ${name})
    file(APPEND ${PAWL_LEFT_OUT} "the tests of ${name} are left out: Go 1.24 or newer is needed to build ${what}\n")
  endif()
endfunction()
