# install(): library, headers, a CMake package and a pkg-config file; all relocatable.
include(CMakePackageConfigHelpers)

set(weft_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

install(TARGETS weft weft_policy EXPORT weftTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${weft_policy_include}/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/machines" DESTINATION "${CMAKE_INSTALL_DATADIR}/weft")
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION "${weft_cmake_dir}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/weftConfig.cmake.in" "${PROJECT_BINARY_DIR}/weftConfig.cmake"
                              INSTALL_DESTINATION "${weft_cmake_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake" "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake"
        DESTINATION "${weft_cmake_dir}")

# A static library needs its own libraries on every link line, so they are public there; a shared library
# loads them itself. hwloc is named as a library and not as a package: what its package adds for static links
# (libudev) is for linking hwloc itself statically.
if(BUILD_SHARED_LIBS)
  set(WEFT_PC_CFLAGS "-DWEFT_SHARED")
  set(WEFT_PC_LIBS "")
else()
  set(WEFT_PC_CFLAGS "")
  set(WEFT_PC_LIBS "-lboost_context -lfmt -lz -lmetis -lhwloc -lhwy_contrib -lhwy")
endif()
file(RELATIVE_PATH WEFT_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" WEFT_PC_PREFIX "${WEFT_PC_PREFIX}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/weft.pc.in" "${PROJECT_BINARY_DIR}/weft.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/weft.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
