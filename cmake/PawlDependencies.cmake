# Everything pawl links comes from Debian packages; tools/setup names them.
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)

find_package(SQLite3 QUIET)
set(PAWL_HAVE_SQLITE ${SQLite3_FOUND})

# Debian's HiredisConfig.cmake is broken, so pkg-config it is.
pkg_check_modules(hiredis QUIET IMPORTED_TARGET hiredis)
set(PAWL_HAVE_HIREDIS ${hiredis_FOUND})

if(PAWL_APPS)
  find_package(CLI11 REQUIRED)
  find_package(spdlog REQUIRED)
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
