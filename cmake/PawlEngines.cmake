# Engines that are files of their own: a module that a program loads when a URL names it, and a static library for those
# who would rather link it. What both are made of is read off the modules, so that an engine's libraries are named once.

# Beside bin/, in the build's folder as where it is installed.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(PAWL_ENGINE_DIR ${CMAKE_INSTALL_LIBDIR}/pawl/engines)
  set(PAWL_ENGINE_DIR_FROM_BIN ${PAWL_ENGINE_DIR})
  set(PAWL_WHOLE_PROGRAM_FROM_BIN ${CMAKE_INSTALL_LIBDIR}/pawl)
else()
  set(PAWL_ENGINE_DIR ${CMAKE_INSTALL_LIBDIR}/pawl/engines)
  set(PAWL_ENGINE_DIR_FROM_BIN ../${CMAKE_INSTALL_LIBDIR}/pawl/engines)
  set(PAWL_WHOLE_PROGRAM_FROM_BIN ../${CMAKE_INSTALL_LIBDIR}/pawl)
endif()
set(PAWL_WHOLE_PROGRAM_DIR ${CMAKE_INSTALL_LIBDIR}/pawl)

# A program that loads modules, or the shared library: what of its symbols they find. A sanitizer's own have to be seen, too.
function(pawl_shows_core target)
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  if(NOT PAWL_SANITIZE)
    pawl_shows_symbols(${target} core)
  endif()
endfunction()

# A module: its entry, and what it shares with the core.
function(pawl_shows_entry target)
  pawl_shows_symbols(${target} module)
endfunction()

function(pawl_shows_symbols target which)
  set(map ${PROJECT_SOURCE_DIR}/cmake/symbols_of_${which}.map)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()

# What is part of another library is linked there.
set(PAWL_OF_OTHERS "pawl_|^Boost::headers$|^Threads::Threads$")

# The libraries from elsewhere that modules link.
function(pawl_libraries_of result)
  set(all "")
  foreach(module ${ARGN})
    get_target_property(linked ${module} LINK_LIBRARIES)
    list(APPEND all ${linked})
  endforeach()
  list(REMOVE_DUPLICATES all)
  list(FILTER all EXCLUDE REGEX "${PAWL_OF_OTHERS}")
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# pawl_engine(NAME SOURCES plan_NAME.cpp … MODULES store_NAME … [CORE store_cas …]): the target pawl_engine_NAME is what
# tests and the static library are made of, and pawl_module_NAME is pawl-NAME.so. CORE is what several engines stand on: a
# static library brings it, and a module finds it in the program.
function(pawl_engine name)
  cmake_parse_arguments(ENGINE "" "" "SOURCES;MODULES;CORE" ${ARGN})
  add_library(pawl_engine_${name} STATIC engines_${name}.cpp ${ENGINE_SOURCES})
  pawl_compile_options(pawl_engine_${name})
  list(TRANSFORM ENGINE_MODULES PREPEND pawl_)
  list(TRANSFORM ENGINE_CORE PREPEND pawl_)
  target_link_libraries(pawl_engine_${name} PUBLIC pawl_assembly ${ENGINE_MODULES} ${ENGINE_CORE})
  # It is referred to weakly, which takes nothing out of an archive by itself.
  target_link_options(pawl_engine_${name} INTERFACE LINKER:-u,pawl_engines_${name})
  set_property(GLOBAL APPEND PROPERTY PAWL_ENGINES ${name})
  set_property(GLOBAL PROPERTY PAWL_ENGINE_MODULES_${name} pawl_engine_${name} ${ENGINE_MODULES} ${ENGINE_CORE})

  # The core is the program's: a module brings its own objects, and finds everything else there.
  set(objects "")
  foreach(module pawl_engine_${name} ${ENGINE_MODULES})
    list(APPEND objects $<TARGET_OBJECTS:${module}>)
  endforeach()
  pawl_libraries_of(libraries ${ENGINE_MODULES})
  add_library(pawl_module_${name} MODULE module_entry.cpp ${objects})
  pawl_compile_options(pawl_module_${name})
  pawl_shows_entry(pawl_module_${name})
  set_target_properties(pawl_module_${name} PROPERTIES PREFIX "" NO_SONAME ON OUTPUT_NAME pawl-${name}
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${PAWL_ENGINE_DIR})
  target_compile_definitions(pawl_module_${name} PRIVATE PAWL_ENGINES=pawl_engines_${name})
  target_include_directories(pawl_module_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(pawl_module_${name} PRIVATE Boost::headers ${libraries})
endfunction()
