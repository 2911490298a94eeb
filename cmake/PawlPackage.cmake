# Debian packages by CPack: `pawl` (the command with memory and SQLite, the agent's units and configuration), `pawl-ENGINE`
# (one engine each, a module) and `libpawl-dev` (the static libraries for C++ programs). tools/package makes them; what
# they hold besides the installed files is in deploy/debian and deploy/systemd.
#
# Nothing of this is installed by `cmake --install`: its rules are EXCLUDE_FROM_ALL.

if(NOT TARGET pawl_share OR NOT PAWL_INSTALL)
  return()
endif()

set(debian ${PROJECT_SOURCE_DIR}/deploy/debian)
set(systemd ${PROJECT_SOURCE_DIR}/deploy/systemd)

# The number of the Debian revision is kept in one place, the changelog.
file(STRINGS ${debian}/changelog debian_version LIMIT_COUNT 1)
string(REGEX REPLACE "^pawl \\(([^)]*)-([^)]*)\\).*" "\\1;\\2" debian_version "${debian_version}")
list(GET debian_version 0 upstream)
list(GET debian_version 1 revision)
if(NOT upstream VERSION_EQUAL PROJECT_VERSION)
  message(FATAL_ERROR "deploy/debian/changelog: its newest entry is for ${upstream}, and this is ${PROJECT_VERSION}: "
                      "add an entry for ${PROJECT_VERSION}-1")
endif()

set(packed "")
foreach(page "changelog.gz;CHANGELOG.md" "changelog.Debian.gz;deploy/debian/changelog")
  list(GET page 0 archive)
  list(GET page 1 text)
  set(archive ${PROJECT_BINARY_DIR}/share/${archive})
  # -n keeps the time of the build out of the archive.
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share
    COMMAND ${PAWL_GZIP} -9nc ${PROJECT_SOURCE_DIR}/${text} > ${archive}
    DEPENDS ${PROJECT_SOURCE_DIR}/${text} VERBATIM)
  list(APPEND packed ${archive})
endforeach()
# All that the packages are made of, and nothing else.
add_custom_target(pawl_package ALL DEPENDS ${packed})
add_dependencies(pawl_package pawl pawl_app pawl_share)

get_property(engines GLOBAL PROPERTY PAWL_ENGINES)
list(TRANSFORM engines PREPEND pawl- OUTPUT_VARIABLE modules)
foreach(package pawl libpawl-dev ${modules})
  install(FILES ${packed} ${debian}/copyright DESTINATION share/doc/${package}
          COMPONENT ${package} EXCLUDE_FROM_ALL)
  # What is to be said of each.
  file(READ ${debian}/lintian-overrides overrides)
  if(EXISTS ${debian}/${package}.lintian-overrides)
    file(READ ${debian}/${package}.lintian-overrides own)
    string(APPEND overrides "${own}")
  endif()
  string(REPLACE "PACKAGE:" "${package}:" overrides "${overrides}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/share/${package}.lintian-overrides CONTENT "${overrides}" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/share/${package}.lintian-overrides DESTINATION share/lintian/overrides RENAME ${package}
          COMPONENT ${package} EXCLUDE_FROM_ALL)
endforeach()
install(FILES ${debian}/pawl.toml DESTINATION /etc/pawl PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
        COMPONENT pawl EXCLUDE_FROM_ALL)
install(FILES ${systemd}/pawl-agent.service ${systemd}/pawl-agent.socket ${systemd}/pawl@.service
              ${systemd}/pawl@.timer
        DESTINATION /lib/systemd/system COMPONENT pawl EXCLUDE_FROM_ALL)
install(FILES ${systemd}/sysusers.d/pawl.conf DESTINATION lib/sysusers.d COMPONENT pawl EXCLUDE_FROM_ALL)
install(FILES ${systemd}/tmpfiles.d/pawl.conf DESTINATION lib/tmpfiles.d COMPONENT pawl EXCLUDE_FROM_ALL)
# Where Debian's zsh looks.
install(FILES ${PROJECT_BINARY_DIR}/share/pawl.zsh DESTINATION share/zsh/vendor-completions RENAME _pawl
        COMPONENT pawl EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION share/doc/pawl COMPONENT pawl EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.md" PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/prometheus ${PROJECT_SOURCE_DIR}/deploy/grafana
        DESTINATION share/doc/pawl/examples COMPONENT pawl EXCLUDE_FROM_ALL PATTERN "*.test.yml" EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pawl)
# Of every package; what each holds follows it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "jobs that run on one host at a time")
set(CPACK_PACKAGE_CONTACT "Seed 9d8e73fd maintainers <maintainers@users.noreply.a-seed-9d8e73fd.example>")
# DESTDIR, so that /etc and /lib are the package's and not this machine's.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL pawl libpawl-dev ${modules})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${revision})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(CPACK_DEBIAN_PAWL_PACKAGE_NAME pawl)
set(CPACK_DEBIAN_PAWL_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PAWL_PACKAGE_SHLIBDEPS ON)
list(JOIN modules ", " suggested)
set(CPACK_DEBIAN_PAWL_PACKAGE_SUGGESTS "${suggested}")
# An engine fits one version: both are unpacked before either is configured, and the agent started.
set(broken "")
foreach(module ${modules})
  list(APPEND broken "${module} (<< ${upstream}-${revision})" "${module} (>> ${upstream}-${revision})")
endforeach()
list(JOIN broken ", " broken)
set(CPACK_DEBIAN_PAWL_PACKAGE_BREAKS "${broken}")
set(CPACK_DEBIAN_PAWL_PACKAGE_DEPENDS "tzdata, systemd | systemd-standalone-sysusers | systemd-sysusers, \
systemd | systemd-standalone-tmpfiles | systemd-tmpfiles")
set(CPACK_DEBIAN_PAWL_PACKAGE_CONTROL_EXTRA
    "${debian}/postinst;${debian}/prerm;${debian}/postrm;${debian}/conffiles")
set(CPACK_COMPONENT_PAWL_DESCRIPTION
"Jobs that are configured on several hosts run on one of them: a host acquires
the job's key in a store that all of them reach (a SQLite file, Redis,
PostgreSQL, MySQL, MongoDB, etcd, ZooKeeper, DynamoDB, Azure Blob Storage, S3
or Kubernetes), holds a lease while it works, and another takes over when it
dies. Every grant carries a fencing token, so that a host that was frozen is
rejected where it writes too late.

This package has the command pawl, which wraps any program, and the agent,
which runs schedules and starts as a service. The stores but SQLite are
packages of their own, such as pawl-redis.")

set(title_redis "Redis, Redis Cluster, Sentinel and Redlock")
set(title_postgresql "PostgreSQL")
set(title_mysql "MySQL and MariaDB")
set(title_etcd "etcd")
set(title_zookeeper "ZooKeeper")
set(title_kubernetes "Lease objects of Kubernetes")
set(title_dynamodb "Amazon DynamoDB")
set(title_azblob "Azure Blob Storage")
set(title_s3 "Amazon S3 and servers like it")
set(title_mongodb "MongoDB")
foreach(engine ${engines})
  string(TOUPPER PAWL-${engine} component)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME pawl-${engine})
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION admin)
  set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
  # A module uses the command's own insides.
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "pawl (= ${upstream}-${revision})")
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA "${debian}/engine/postinst")
  set(CPACK_COMPONENT_${component}_DESCRIPTION
"The command pawl and its agent keep leases, fencing tokens and runs in a
store that all hosts reach. This package is the engine for
${title_${engine}}: a module that is loaded when the
URL of a store names it.")
endforeach()

set(CPACK_DEBIAN_LIBPAWL-DEV_PACKAGE_NAME libpawl-dev)
set(CPACK_DEBIAN_LIBPAWL-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBPAWL-DEV_PACKAGE_DEPENDS "libboost1.81-dev, libboost-json1.81-dev, libssl-dev, nettle-dev, \
libhowardhinnant-date-dev, libtomlplusplus-dev, pkg-config")
foreach(engine "sqlite;libsqlite3-dev" "redis;libhiredis-dev" "postgresql;libpq-dev" "mysql;libmariadb-dev"
        "etcd;libgrpc++-dev, libprotobuf-dev, protobuf-compiler" "zookeeper;libzookeeper-st-dev"
        "kubernetes;libyaml-cpp-dev" "mongodb;libmongoc-dev")
  list(GET engine 0 name)
  list(GET engine 1 needed)
  if(TARGET pawl_store_${name})
    string(APPEND CPACK_DEBIAN_LIBPAWL-DEV_PACKAGE_DEPENDS ", ${needed}")
  endif()
endforeach()
set(CPACK_COMPONENT_LIBPAWL-DEV_DESCRIPTION
"Leases with fencing tokens, fences, leader election and schedules for C++
programs, over the stores that the command pawl knows.

This package has the headers, the static library, and what CMake and
pkg-config need to find them.")

include(CPack)
