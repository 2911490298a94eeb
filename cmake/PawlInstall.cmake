# One library for users: `pawl`, made of the objects of every room, static unless BUILD_SHARED_LIBS says
# otherwise. What it links is read off the rooms, so that a new engine needs no line here.
#
# Users get it by find_package(pawl), by add_subdirectory (both as pawl::pawl), or by pkg-config.

include(CMakePackageConfigHelpers)

option(PAWL_INSTALL "Install the library, the command, its manual and its completions" ${PROJECT_IS_TOP_LEVEL})

get_property(rooms GLOBAL PROPERTY PAWL_ROOMS)
set(objects "")
set(libraries "")
foreach(room ${rooms})
  list(APPEND objects $<TARGET_OBJECTS:${room}>)
  get_target_property(linked ${room} LINK_LIBRARIES)
  list(APPEND libraries ${linked})
endforeach()
list(REMOVE_DUPLICATES libraries)
# The rooms themselves are inside, and pawl_asio stands for the two that every user sees.
list(FILTER libraries EXCLUDE REGEX "pawl_|^Boost::headers$|^Threads::Threads$")

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
      DEPENDS pawl_app VERBATIM)
  endforeach()
  add_custom_target(pawl_share ALL
    DEPENDS ${manual} ${PROJECT_BINARY_DIR}/share/pawl.bash ${PROJECT_BINARY_DIR}/share/pawl.zsh)
endif()

if(NOT PAWL_INSTALL)
  return()
endif()

# pawlConfig.cmake and pawl.pc find again what was found here, and nothing else.
get_target_property(kind pawl TYPE)
set(PAWL_NEEDS_STATIC OFF)
if(kind STREQUAL "STATIC_LIBRARY")
  set(PAWL_NEEDS_STATIC ON)
endif()
set(requires "")
foreach(engine sqlite redis postgresql mysql etcd zookeeper)
  string(TOUPPER ${engine} upper)
  set(PAWL_NEEDS_${upper} OFF)
  if(TARGET pawl_store_${engine})
    set(PAWL_NEEDS_${upper} ON)
  endif()
endforeach()
set(libs_private "")
if(PAWL_NEEDS_STATIC)
  set(requires openssl)
  set(module_sqlite sqlite3)
  set(module_redis hiredis)
  set(module_postgresql libpq)
  set(module_mysql libmariadb)
  set(module_etcd grpc++ protobuf-lite)
  foreach(engine sqlite redis postgresql mysql etcd)
    string(TOUPPER ${engine} upper)
    if(PAWL_NEEDS_${upper})
      list(APPEND requires ${module_${engine}})
    endif()
  endforeach()
  # Without .pc files of their own.
  set(libs_private " -ldate-tz -ltomlplusplus -lboost_json")
  if(PAWL_NEEDS_ZOOKEEPER)
    string(APPEND libs_private " -lzookeeper_mt")
  endif()
endif()
set(PAWL_PC_LIBS "${libs_private}")
list(JOIN requires " " PAWL_PC_REQUIRES)

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
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pawlConfig.cmake.in
  ${PROJECT_BINARY_DIR}/share/pawlConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/share/pawlConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

# The components are the Debian packages that the files go into (PawlPackage.cmake); what has none is
# told, or put elsewhere, in Debian's own way there.
install(TARGETS pawl EXPORT pawl
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
  install(FILES ${PROJECT_SOURCE_DIR}/src/stores/postgresql/schema.sql
          DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl RENAME postgresql.sql COMPONENT pawl)
  install(FILES ${PROJECT_SOURCE_DIR}/src/journals/postgresql/schema.sql
          DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl RENAME postgresql-journal.sql COMPONENT pawl)
endif()
if(TARGET pawl_share)
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT pawl)
  install(FILES ${PROJECT_BINARY_DIR}/share/pawl.bash
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pawl COMPONENT pawl)
  install(FILES ${PROJECT_BINARY_DIR}/share/pawl.zsh
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _pawl)
endif()
