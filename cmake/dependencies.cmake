# The libraries that the library itself uses. weftConfig.cmake.in and weft.pc.in have the same list for users.
#   WEFT_LIBRARIES         what it is linked with
#   WEFT_HEADER_LIBRARIES  folders of libraries that are headers only, which its users do not need
#   WEFT_HAS_METIS         see the option WEFT_METIS
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET GLOBAL "hwloc>=2.9")
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET GLOBAL "libhwy-contrib>=1.0.3" "libhwy>=1.0.3")
find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS context)
find_package(fmt 9 REQUIRED)
find_package(ZLIB REQUIRED)
find_path(WEFT_NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
find_path(WEFT_ROBIN_MAP_INCLUDE_DIR tsl/robin_map.h REQUIRED)
# Without the package's target, which requires a shared library.
find_path(WEFT_TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

set(WEFT_LIBRARIES PkgConfig::HWLOC PkgConfig::HWY Boost::context fmt::fmt ZLIB::ZLIB)
set(WEFT_HEADER_LIBRARIES "${WEFT_TOMLPLUSPLUS_INCLUDE_DIR}" "${WEFT_NLOHMANN_JSON_INCLUDE_DIR}" "${WEFT_ROBIN_MAP_INCLUDE_DIR}")

if(NOT WEFT_METIS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WEFT_METIS is '${WEFT_METIS}'; it may be AUTO, ON or OFF")
endif()
set(WEFT_HAS_METIS OFF)
if(NOT WEFT_METIS STREQUAL "OFF")
  list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
  find_package(METIS QUIET)
  list(POP_FRONT CMAKE_MODULE_PATH)
  set(WEFT_HAS_METIS ${METIS_FOUND})
endif()
if(WEFT_HAS_METIS)
  list(APPEND WEFT_LIBRARIES metis) # by name, so that the installed package does not contain the path on this machine
elseif(WEFT_METIS STREQUAL "ON")
  message(FATAL_ERROR "METIS was not found (package libmetis-dev), and WEFT_METIS is ON")
elseif(WEFT_METIS STREQUAL "AUTO")
  message(STATUS "METIS was not found (package libmetis-dev): the policy `offline` will not follow profiles")
endif()
