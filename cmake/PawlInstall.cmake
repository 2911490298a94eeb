# One library for users: `pawl`, made of the objects of the modules that are no engine's and not the command's alone, with
# memory and SQLite; static unless BUILD_SHARED_LIBS says otherwise. What it links is read off the modules.
#
# Users get it by find_package(pawl), by add_subdirectory (both as pawl::pawl), or by pkg-config. An engine is a component:
# find_package(pawl COMPONENTS redis) and pawl::redis link it; a program on the shared library loads its module as well.

include(CMakePackageConfigHelpers)

option(PAWL_INSTALL "Install the library, the command, its manual and its completions" ${PROJECT_IS_TOP_LEVEL})

get_property(modules GLOBAL PROPERTY PAWL_MODULES)
get_property(engines GLOBAL PROPERTY PAWL_ENGINES)
foreach(engine ${engines})
  get_property(of_engine GLOBAL PROPERTY PAWL_ENGINE_MODULES_${engine})
  list(REMOVE_ITEM modules ${of_engine})
endforeach()
list(REMOVE_ITEM modules pawl_health pawl_exec pawl_config pawl_agent pawl_documents)
set(objects "")
foreach(module ${modules})
  list(APPEND objects $<TARGET_OBJECTS:${module}>)
endforeach()
pawl_libraries_of(libraries ${modules})

add_library(pawl ${objects})
add_library(pawl::pawl ALIAS pawl)
# Before 1.0 a minor release may change the binary interface.
set_target_properties(pawl PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(pawl INTERFACE cxx_std_20)
target_include_directories(pawl INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(pawl PUBLIC Boost::headers Threads::Threads PRIVATE ${libraries}
                      $<BUILD_INTERFACE:pawl_flags>)
get_target_property(kind pawl TYPE)
if(kind STREQUAL "SHARED_LIBRARY")
  pawl_shows_core(pawl)
endif()

# For authors of engines: the headers and nothing to link, as the core is in the program that loads a module.
add_library(pawl_spi INTERFACE)
add_library(pawl::spi ALIAS pawl_spi)
target_compile_features(pawl_spi INTERFACE cxx_std_20)
target_include_directories(pawl_spi INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(pawl_spi INTERFACE Boost::headers Threads::Threads)
set_target_properties(pawl_spi PROPERTIES EXPORT_NAME spi)

# An engine as a static library, for programs that shall need no file beside them.
foreach(engine ${engines})
  if(kind STREQUAL "STATIC_LIBRARY")
    get_property(of_engine GLOBAL PROPERTY PAWL_ENGINE_MODULES_${engine})
    set(objects "")
    foreach(module ${of_engine})
      list(APPEND objects $<TARGET_OBJECTS:${module}>)
    endforeach()
    pawl_libraries_of(libraries ${of_engine})
    add_library(pawl_${engine} STATIC ${objects})
    target_link_libraries(pawl_${engine} PUBLIC pawl PRIVATE ${libraries} $<BUILD_INTERFACE:pawl_flags>)
    target_link_options(pawl_${engine} INTERFACE LINKER:-u,pawl_engines_${engine})
    set_target_properties(pawl_${engine} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME pawl-${engine})
  else()
    # Loaded by the shared library when a URL names it.
    add_library(pawl_${engine} INTERFACE)
    target_link_libraries(pawl_${engine} INTERFACE pawl)
    add_dependencies(pawl_${engine} pawl_module_${engine})
  endif()
  set_target_properties(pawl_${engine} PROPERTIES EXPORT_NAME ${engine})
  add_library(pawl::${engine} ALIAS pawl_${engine})
endforeach()

# The manual page, and the completions, made by the command itself. A command under a sanitizer is not for
# installing, and g++ 12's TSan cannot start everywhere.
if(PAWL_APPS AND NOT PAWL_SANITIZE)
  find_program(PAWL_GZIP gzip REQUIRED)
  set(manual ${PROJECT_BINARY_DIR}/share/pawl.1.gz)
  # -n keeps the time of the build out of the archive.
  add_custom_command(OUTPUT ${manual}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share
    COMMAND ${PAWL_GZIP} -9nc ${PROJECT_SOURCE_DIR}/docs/man/pawl.1 > ${manual}
    DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/pawl.1 VERBATIM)
  foreach(shell bash zsh)
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/share/pawl.${shell}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share
      COMMAND pawl_app completion ${shell} > ${PROJECT_BINARY_DIR}/share/pawl.${shell}
      DEPENDS pawl_app pawl_whole VERBATIM)
  endforeach()
  add_custom_target(pawl_share ALL
    DEPENDS ${manual} ${PROJECT_BINARY_DIR}/share/pawl.bash ${PROJECT_BINARY_DIR}/share/pawl.zsh)
endif()

if(NOT PAWL_INSTALL)
  return()
endif()

# pawlConfig.cmake and the .pc files find again what was found here, and nothing else.
set(PAWL_NEEDS_STATIC OFF)
if(kind STREQUAL "STATIC_LIBRARY")
  set(PAWL_NEEDS_STATIC ON)
endif()
set(PAWL_NEEDS_SQLITE OFF)
if(TARGET pawl_store_sqlite)
  set(PAWL_NEEDS_SQLITE ON)
endif()
set(requires "")
set(PAWL_PC_LIBS "")
if(PAWL_NEEDS_STATIC)
  set(requires openssl nettle)
  if(PAWL_NEEDS_SQLITE)
    list(APPEND requires sqlite3)
  endif()
  # Without .pc files of their own.
  set(PAWL_PC_LIBS " -ldate-tz -lboost_json")
endif()
list(JOIN requires " " PAWL_PC_REQUIRES)
# What an engine stands on, by the names of pkg-config; libzookeeper has none.
set(PAWL_MODULE_redis hiredis)
set(PAWL_MODULE_postgresql libpq)
set(PAWL_MODULE_mysql libmariadb)
set(PAWL_MODULE_etcd "grpc++ protobuf-lite")
set(PAWL_MODULE_zookeeper "")
set(PAWL_MODULE_kubernetes yaml-cpp)
set(PAWL_MODULE_dynamodb "")
set(PAWL_MODULE_azblob "")
set(PAWL_MODULE_s3 "")
set(PAWL_MODULE_mongodb libmongoc-1.0)

# Relative to the file, so that the tree may be moved; `cmake --install --prefix` moves it.
set(PAWL_PC_FOLDER ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(PAWL_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up ${CMAKE_INSTALL_PREFIX}/${PAWL_PC_FOLDER} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" up "${up}")
  set(PAWL_PC_PREFIX "\${pcfiledir}/${up}")
endif()

configure_file(${PROJECT_SOURCE_DIR}/cmake/pawl.pc.in ${PROJECT_BINARY_DIR}/share/pawl.pc @ONLY)
list(JOIN engines " " PAWL_ENGINE_NAMES)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pawlConfig.cmake.in
  ${PROJECT_BINARY_DIR}/share/pawlConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/share/pawlConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

foreach(engine ${engines})
  # The engine's own library stands before pawl's, which comes with what it requires.
  set(PAWL_ENGINE ${engine})
  set(PAWL_PC_REQUIRES "pawl = ${PROJECT_VERSION}")
  set(PAWL_PC_LIBS "")
  if(PAWL_NEEDS_STATIC)
    string(APPEND PAWL_PC_REQUIRES " ${PAWL_MODULE_${engine}}")
    set(PAWL_PC_LIBS "-Wl,-u,pawl_engines_${engine} -L\${libdir} -lpawl-${engine}")
    if(engine STREQUAL "zookeeper")
      string(APPEND PAWL_PC_LIBS " -lzookeeper_st")
    endif()
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pawl-engine.pc.in ${PROJECT_BINARY_DIR}/share/pawl-${engine}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/share/pawl-${engine}.pc DESTINATION ${PAWL_PC_FOLDER} COMPONENT libpawl-dev)
  # A set of its own: whoever does not ask for the engine needs none of its libraries.
  install(TARGETS pawl_${engine} EXPORT pawl-${engine}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpawl-dev)
  install(EXPORT pawl-${engine} NAMESPACE pawl:: FILE pawl-${engine}Targets.cmake DESTINATION ${config_folder}
          COMPONENT libpawl-dev)
  install(TARGETS pawl_module_${engine} LIBRARY DESTINATION ${PAWL_ENGINE_DIR} COMPONENT pawl-${engine})
endforeach()

# The components are the Debian packages that the files go into (PawlPackage.cmake); what has none is
# told, or put elsewhere, in Debian's own way there.
install(TARGETS pawl pawl_spi EXPORT pawl
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpawl-dev
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpawl-dev)
install(EXPORT pawl NAMESPACE pawl:: FILE pawlTargets.cmake DESTINATION ${config_folder} COMPONENT libpawl-dev)
install(FILES ${PROJECT_BINARY_DIR}/share/pawlConfig.cmake ${PROJECT_BINARY_DIR}/share/pawlConfigVersion.cmake
        DESTINATION ${config_folder} COMPONENT libpawl-dev)
install(FILES ${PROJECT_BINARY_DIR}/share/pawl.pc DESTINATION ${PAWL_PC_FOLDER} COMPONENT libpawl-dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libpawl-dev
        FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET pawl_store_postgresql)
  # For administrators of databases in which pawl may not make its tables itself.
  install(FILES ${PROJECT_SOURCE_DIR}/src/engines/postgresql/store/schema.sql
          DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl RENAME postgresql.sql COMPONENT pawl)
  install(FILES ${PROJECT_SOURCE_DIR}/src/engines/postgresql/store/exclusive_job.sql
          DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl RENAME postgresql-exclusive-job.sql COMPONENT pawl)
  install(FILES ${PROJECT_SOURCE_DIR}/src/engines/postgresql/journal/schema.sql
          DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl RENAME postgresql-journal.sql COMPONENT pawl)
endif()
if(TARGET pawl_store_mysql)
  install(FILES ${PROJECT_SOURCE_DIR}/src/engines/mysql/store/exclusive_job.sql
          DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl RENAME mysql-exclusive-job.sql COMPONENT pawl)
endif()
if(TARGET pawl_share)
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT pawl)
  install(FILES ${PROJECT_BINARY_DIR}/share/pawl.bash
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pawl COMPONENT pawl)
  install(FILES ${PROJECT_BINARY_DIR}/share/pawl.zsh
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _pawl)
endif()
