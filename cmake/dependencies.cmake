# The libraries that the library itself uses. weftConfig.cmake.in and weft.pc.in have the same list for users.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET GLOBAL "hwloc>=2.9")
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET GLOBAL "libhwy-contrib>=1.0.3" "libhwy>=1.0.3")
find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS headers context)
find_package(fmt 9 REQUIRED)
find_package(ZLIB REQUIRED)
find_path(WEFT_METIS_INCLUDE_DIR metis.h REQUIRED)
find_library(WEFT_METIS_FOUND metis REQUIRED)
set(WEFT_METIS_LIBRARY metis) # by name, so that the installed package does not contain the path on this machine
find_path(WEFT_NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
find_path(WEFT_ROBIN_MAP_INCLUDE_DIR tsl/robin_map.h REQUIRED)

# Header only, so that users of weft need no TOML library. The headers are used without the package's target,
# which requires a shared library.
find_path(WEFT_TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
