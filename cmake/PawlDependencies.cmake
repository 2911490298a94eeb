# Everything pawl links comes from Debian packages; tools/setup names them.
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
# Digests and base64, without what a library of TLS costs a program that starts.
pkg_check_modules(nettle REQUIRED IMPORTED_TARGET nettle)
# Time zones, and the calendar that g++ 12 lacks.
find_package(date REQUIRED)
find_package(tomlplusplus REQUIRED)

find_package(SQLite3 QUIET)
set(PAWL_HAVE_SQLITE ${SQLite3_FOUND})

# Debian's HiredisConfig.cmake is broken, so pkg-config it is.
pkg_check_modules(hiredis QUIET IMPORTED_TARGET hiredis)
set(PAWL_HAVE_HIREDIS ${hiredis_FOUND})

# libpq's .pc file carries its include folder; FindPostgreSQL would ask for the server's headers.
pkg_check_modules(libpq QUIET IMPORTED_TARGET libpq)
set(PAWL_HAVE_LIBPQ ${libpq_FOUND})

pkg_check_modules(libmariadb QUIET IMPORTED_TARGET libmariadb)
set(PAWL_HAVE_LIBMARIADB ${libmariadb_FOUND})

# The compilers of .proto files are needed to build, not to use.
find_package(Protobuf QUIET)
pkg_check_modules(grpc QUIET IMPORTED_TARGET grpc++)
find_program(PAWL_GRPC_CPP_PLUGIN grpc_cpp_plugin)
set(PAWL_HAVE_GRPC OFF)
if(grpc_FOUND AND Protobuf_FOUND AND Protobuf_PROTOC_EXECUTABLE AND PAWL_GRPC_CPP_PLUGIN)
  set(PAWL_HAVE_GRPC ON)
  # A macro for Windows' headers, by which what else is compiled with gRPC would differ from what is not.
  foreach(kind OPTIONS DEFINITIONS)
    get_target_property(flags PkgConfig::grpc INTERFACE_COMPILE_${kind})
    if(flags)
      list(FILTER flags EXCLUDE REGEX "^(-D)?NOMINMAX$")
      set_target_properties(PkgConfig::grpc PROPERTIES INTERFACE_COMPILE_${kind} "${flags}")
    endif()
  endforeach()
endif()

# Debian's C client has neither a .pc file nor a CMake package. Of its two variants the one without
# threads; the other, whose development package cannot be installed beside, is for benchmarks.
find_library(PAWL_ZOOKEEPER_LIBRARY zookeeper_st)
find_file(PAWL_ZOOKEEPER_THREADED libzookeeper_mt.so.2 PATHS /usr/lib PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE})
find_path(PAWL_ZOOKEEPER_INCLUDE zookeeper/zookeeper.h)
mark_as_advanced(PAWL_ZOOKEEPER_LIBRARY PAWL_ZOOKEEPER_THREADED PAWL_ZOOKEEPER_INCLUDE PAWL_GRPC_CPP_PLUGIN)
set(PAWL_HAVE_ZOOKEEPER OFF)
if(PAWL_ZOOKEEPER_LIBRARY AND PAWL_ZOOKEEPER_INCLUDE)
  set(PAWL_HAVE_ZOOKEEPER ON)
  file(STRINGS ${PAWL_ZOOKEEPER_INCLUDE}/zookeeper/zookeeper_version.h PAWL_ZOOKEEPER_VERSION REGEX "define ZOO_VERSION")
  string(REGEX REPLACE "[^0-9.]" "" PAWL_ZOOKEEPER_VERSION "${PAWL_ZOOKEEPER_VERSION}")
endif()

# What a kubeconfig is written in.
pkg_check_modules(yaml_cpp QUIET IMPORTED_TARGET yaml-cpp)
set(PAWL_HAVE_YAML_CPP ${yaml_cpp_FOUND})

# The client of MongoDB, with a CMake package of its own.
find_package(mongoc-1.0 1.23 CONFIG QUIET)
set(PAWL_HAVE_MONGOC ${mongoc-1.0_FOUND})

if(PAWL_APPS)
  find_package(CLI11 REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  # Users' tokens are kept as argon2id hashes.
  pkg_check_modules(argon2 REQUIRED IMPORTED_TARGET libargon2)
endif()
if(PAWL_TESTS)
  find_package(GTest REQUIRED)
endif()
if(PAWL_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# Boost.Asio: no deprecated names, and the io_context knows that one thread drives it at a time.
add_library(pawl_asio INTERFACE)
target_link_libraries(pawl_asio INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(pawl_asio INTERFACE BOOST_ASIO_NO_DEPRECATED)
