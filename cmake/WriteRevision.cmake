# cmake -D SOURCE=… -D GIVEN=… -D RESULT=… -P WriteRevision.cmake: the header RESULT with PAWL_REVISION, which is GIVEN or, where
# that is empty, the commit of SOURCE. Written only when it changes, so that nothing is compiled anew for nothing.
set(revision "${GIVEN}")
if(NOT revision)
  # Nothing where git does not know: a source package has no history.
  execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${RESULT} CONTENT "#define PAWL_REVISION \"@revision@\"\n" @ONLY)
