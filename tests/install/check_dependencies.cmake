# Run by ctest; the variables are in CMakeLists.txt beside this file.
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# configure(what status pattern option...): the exit status is 0 or not, as `status` is OK or FAILS; the output has the pattern.
function(configure what status pattern)
  string(MAKE_C_IDENTIFIER "${what}" folder)
  execute_process(COMMAND "${CMAKE_COMMAND}" --preset library -B "${WORK_DIR}/${folder}" "-DCMAKE_CXX_COMPILER=${CXX}" ${ARGN}
                  WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if((status STREQUAL "OK" AND NOT result EQUAL 0) OR (status STREQUAL "FAILS" AND result EQUAL 0) OR NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "${what}: exit status ${result}, expected: ${status} and '${pattern}'. It said:\n${output}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

# What only tests, examples, benchmarks and documentation use is not there.
set(foreign "")
foreach(package IN ITEMS GTest rapidcheck CLI11 benchmark Python3 Python nanobind TBB OpenMP)
  list(APPEND foreign "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
endforeach()
configure("the library alone" OK "Generating done" ${foreign})

set(no_metis -DCMAKE_DISABLE_FIND_PACKAGE_METIS=ON)
set(says "METIS was not found \\(package libmetis-dev\\)")
configure("without METIS" OK "${says}: the policy `offline` will not follow profiles" ${no_metis})
configure("without METIS, which is required" FAILS "${says}, and WEFT_METIS is ON" ${no_metis} -DWEFT_METIS=ON)
configure("METIS is not wanted" OK "Generating done" -DWEFT_METIS=OFF)
configure("a wrong value" FAILS "WEFT_METIS is 'maybe'.*it may be AUTO, ON or OFF" -DWEFT_METIS=maybe)

foreach(folder IN ITEMS without_METIS METIS_is_not_wanted)
  file(READ "${WORK_DIR}/${folder}/build.ninja" rules)
  if(rules MATCHES "metis_partitioner|-lmetis" OR NOT rules MATCHES "no_partitioner")
    message(FATAL_ERROR "${folder}: METIS would be used")
  endif()
endforeach()
