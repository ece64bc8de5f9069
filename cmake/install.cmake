# install(): libraries, headers, CMake's package, files for pkg-config, machines, manual pages and the licence; all relocatable.
include(CMakePackageConfigHelpers)

set(weft_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

# A set of targets for each: the static library needs its own libraries on every link line, and their packages to be found; the
# shared one loads them itself; policies in files of their own need none.
install(TARGETS weft EXPORT weftTargets)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION "${weft_cmake_dir}")
if(WEFT_BUILD_SHARED)
  install(TARGETS weft_shared EXPORT weftSharedTargets)
  install(EXPORT weftSharedTargets NAMESPACE weft:: DESTINATION "${weft_cmake_dir}")
endif()
install(TARGETS weft_policy EXPORT weftPolicyTargets)
install(EXPORT weftPolicyTargets NAMESPACE weft:: DESTINATION "${weft_cmake_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" "${weft_policy_include}/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/weftConfig.cmake.in" "${PROJECT_BINARY_DIR}/weftConfig.cmake"
                              INSTALL_DESTINATION "${weft_cmake_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake" "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake"
        DESTINATION "${weft_cmake_dir}")

# weft.pc is the static library and weft-shared.pc the shared one, as for CMake's targets. -l:libweft.a, since -lweft would
# take the shared one. hwloc is named as a library and not as a package: what its package adds for static links (libudev)
# is for linking hwloc itself statically.
file(RELATIVE_PATH WEFT_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" WEFT_PC_PREFIX "${WEFT_PC_PREFIX}")
function(weft_install_pc name form cflags libs)
  set(WEFT_PC_NAME "${name}")
  set(WEFT_PC_FORM "${form}")
  set(WEFT_PC_CFLAGS "${cflags}")
  set(WEFT_PC_LIBS "${libs}")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/weft.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
set(metis "")
if(WEFT_HAS_METIS)
  set(metis "-lmetis ")
endif()
weft_install_pc(weft "static library" "" "-l:libweft.a -lboost_context -lfmt -lz ${metis}-lhwloc -lhwy_contrib -lhwy ")
if(WEFT_BUILD_SHARED)
  weft_install_pc(weft-shared "shared library" "-DWEFT_SHARED " "-lweft ")
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/machines" DESTINATION "${CMAKE_INSTALL_DATADIR}/weft" FILES_MATCHING
        PATTERN "checks" EXCLUDE PATTERN "*.toml")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" FILES_MATCHING PATTERN "*.1")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
