# Run by ctest; the variables are in CMakeLists.txt beside this file.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}): ${ARGN}\n${output}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

function(ask_pkg_config out)
  execute_process(COMMAND "${PKG_CONFIG}" ${ARGN} weft OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
step("install" "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --config "${CONFIG}" --prefix "${prefix}")
# Moved after it was installed: nothing in it may depend on where it was made.
file(RENAME "${prefix}" "${WORK_DIR}/moved")
set(prefix "${WORK_DIR}/moved")
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}:$ENV{LD_LIBRARY_PATH}")

step("find_package: configure" "${CMAKE_COMMAND}" -S "${CONSUMER_DIR}" -B "${WORK_DIR}/package" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}")
step("find_package: build" "${CMAKE_COMMAND}" --build "${WORK_DIR}/package")
foreach(program IN ITEMS consumer sort)
  step("find_package: run ${program}" "${WORK_DIR}/package/${program}")
endforeach()

set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
foreach(mode IN ITEMS "--static" "")
  ask_pkg_config(flags ${mode} --cflags --libs)
  foreach(source IN ITEMS main sort)
    step("pkg-config ${mode}: build ${source}" "${CXX}" -std=c++20 "${CONSUMER_DIR}/${source}.cpp" -o "${WORK_DIR}/plain" ${flags})
    step("pkg-config ${mode}: run ${source}" "${WORK_DIR}/plain")
  endforeach()
endforeach()

# A policy of its own, on real threads and on machines that are found by name in the moved installation only.
file(COPY_FILE "${prefix}/share/weft/machines/opteron-8380-4x4.toml" "${prefix}/share/weft/machines/only-installed.toml")
step("policy module: configure" "${CMAKE_COMMAND}" -S "${EXAMPLES_DIR}/policy_module" -B "${WORK_DIR}/policy" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}")
step("policy module: build" "${CMAKE_COMMAND}" --build "${WORK_DIR}/policy")
ask_pkg_config(flags --static --cflags --libs)
step("policy module: build with pkg-config" "${CXX}" -std=c++20 "${EXAMPLES_DIR}/policy_module/program.cpp" -o
     "${WORK_DIR}/policy/plain" ${flags})

function(run_with_module program expected)
  set(report "${WORK_DIR}/policy/report.json")
  file(REMOVE "${report}")
  step("policy module: ${program} ${ARGN}" "${CMAKE_COMMAND}" -E chdir "${WORK_DIR}/policy" "${CMAKE_COMMAND}" -E env
       "WEFT_POLICY=./round_robin.so:round-robin:step=3" "WEFT_REPORT=${report}" ${ARGN} "./${program}")
  file(READ "${report}" text)
  foreach(word IN ITEMS "./round_robin.so:round-robin:step=3" ${expected})
    string(FIND "${text}" "${word}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "the report of ${program} ${ARGN} lacks '${word}':\n${text}")
    endif()
  endforeach()
endfunction()

run_with_module(program "threads" WEFT_WORKERS=2)
foreach(program IN ITEMS program plain) # by CMake's flags, and by those of pkg-config
  run_with_module(${program} "opteron-8380-4x4" WEFT_ENGINE=model WEFT_MACHINE=only-installed)
endforeach()
run_with_module(program "typical" WEFT_ENGINE=model "WEFT_MACHINE=numa:4 core:8 pu:1")
