# weft::policy, what policies outside of the source tree are compiled with: the headers of the seam and of what several
# policies share, with everything that they include. They are copied, with their includes rewritten, since the source
# tree has them among others:
#   src/policy/seam/NAME -> weft/policy/NAME          src/policy/parts/NAME -> weft/policy/parts/NAME
#   src/machine/NAME     -> weft/policy/machine/NAME, and so for queue and task
set(weft_policy_include "${PROJECT_BINARY_DIR}/policy/include")
set(pending policy/seam/module.hpp policy/parts/places.hpp queue/cell.hpp queue/spin_lock.hpp machine/domains.hpp)
set(done "")
set(room "(policy/seam|policy/parts|machine|queue|task)")
while(pending)
  list(POP_FRONT pending header)
  if(header IN_LIST done)
    continue()
  endif()
  list(APPEND done "${header}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${header}")
  file(READ "${PROJECT_SOURCE_DIR}/src/${header}" text)
  string(REGEX MATCHALL "#include \"${room}/[a-z_]+\\.hpp\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" include "${include}")
    list(APPEND pending "${include}")
  endforeach()
  string(REGEX REPLACE "#include \"policy/(seam/)?([a-z_/]+\\.hpp)\"" "#include <weft/policy/\\2>" text "${text}")
  string(REGEX REPLACE "#include \"((machine|queue|task)/[a-z_]+\\.hpp)\"" "#include <weft/policy/\\1>" text "${text}")
  string(REGEX REPLACE "^policy/(seam/)?" "" target "${header}")
  file(CONFIGURE OUTPUT "${weft_policy_include}/weft/policy/${target}" CONTENT "${text}" @ONLY)
endwhile()

add_library(weft_policy INTERFACE)
add_library(weft::policy ALIAS weft_policy)
set_target_properties(weft_policy PROPERTIES EXPORT_NAME policy)
target_compile_features(weft_policy INTERFACE cxx_std_20)
target_include_directories(
  weft_policy INTERFACE "$<BUILD_INTERFACE:${weft_policy_include}>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                        "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
# What is inline in a module stays its own, whatever the program exports.
target_compile_options(weft_policy INTERFACE -fvisibility=hidden)
