# What the library itself is built on. The same list, for users, is in weftConfig.cmake.in and weft.pc.in.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET GLOBAL "hwloc>=2.9")
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET GLOBAL "libhwy-contrib>=1.0.3" "libhwy>=1.0.3")
find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS headers context)
find_package(fmt 9 REQUIRED)
find_package(ZLIB REQUIRED)
find_path(WEFT_METIS_INCLUDE_DIR metis.h REQUIRED)
find_library(WEFT_METIS_FOUND metis REQUIRED)
set(WEFT_METIS_LIBRARY metis) # by name, so that the installed package does not say where it was here
find_path(WEFT_NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
find_path(WEFT_ROBIN_MAP_INCLUDE_DIR tsl/robin_map.h REQUIRED)

# Header only, so that users of weft need no TOML library: the headers alone, not the package's
# target, which asks for a shared library.
find_path(WEFT_TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
