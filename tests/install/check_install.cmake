# Run by ctest; the variables are in CMakeLists.txt beside this file.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}): ${ARGN}\n${output}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

function(ask_pkg_config out)
  execute_process(COMMAND "${PKG_CONFIG}" ${ARGN} OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

# The libraries that a program or a library asks the loader for, without those of the compiler and the C library.
function(needed_by out file)
  execute_process(COMMAND readelf -d "${file}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[][]" "|" text "${text}") # lists do not take brackets apart
  string(REGEX MATCHALL "NEEDED[^|]*\\|[^|]*" lines "${text}")
  list(TRANSFORM lines REPLACE ".*\\|" "")
  list(FILTER lines EXCLUDE REGEX "^(lib(stdc\\+\\+|m|c|gcc_s|atomic)|ld-linux.*)\\.so")
  set(${out} ${lines} PARENT_SCOPE)
endfunction()

set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
step("install" "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --config "${CONFIG}" --prefix "${prefix}")
# Moved after it was installed: nothing in it may depend on where it was made.
file(RENAME "${prefix}" "${WORK_DIR}/moved")
set(prefix "${WORK_DIR}/moved")
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}:$ENV{LD_LIBRARY_PATH}")

# --- the files -------------------------------------------------------------------------------------------------------
foreach(file IN ITEMS "${DOCDIR}/LICENSE" "${DATADIR}/weft/machines/opteron-8380-4x4.toml" "${MANDIR}/man1/weft.1"
                      "${MANDIR}/man1/weft-trace-stats.1")
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
execute_process(COMMAND grep -rlE "#include <(boost|fmt|hwloc|hwy|nlohmann|toml)" "${prefix}/include" OUTPUT_VARIABLE foreign)
if(foreign)
  message(FATAL_ERROR "public headers include those of other libraries:\n${foreign}")
endif()

# --- what the shared library shows -----------------------------------------------------------------------------------
set(library "${prefix}/${LIBDIR}/libweft.so")
execute_process(COMMAND nm -D --defined-only -C "${library}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" symbols "${symbols}")
string(REPLACE ";" "," symbols "${symbols}")
string(REPLACE "\n" ";" symbols "${symbols}")
list(LENGTH symbols count)
list(FILTER symbols EXCLUDE REGEX
     "^[0-9a-f]+ [A-Za-z] ((typeinfo( name)?|vtable) for weft::error|weft::(impl|runtime|run_stats|graph|this_task)::.*|weft::run_together\\(.*|weft_hot)$")
if(count LESS 50 OR symbols)
  message(FATAL_ERROR "${library} shows ${count} symbols, among them these, which no public header declares: ${symbols}")
endif()
execute_process(COMMAND readelf -d "${library}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(NOT dynamic MATCHES "SONAME[^[]*\\[libweft\\.so\\.${VERSION_OF_ABI}\\]")
  message(FATAL_ERROR "the SONAME of ${library} is not libweft.so.${VERSION_OF_ABI}:\n${dynamic}")
endif()
message(STATUS "symbols of the shared library: ok, ${count}")

# The program ends with the report of a full stack.
function(overflows program)
  execute_process(COMMAND "${program}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE said)
  if(result EQUAL 0 OR NOT said MATCHES "stack overflow in a task")
    message(FATAL_ERROR "${program} ended with '${result}' and said '${said}', not that a task's stack is full")
  endif()
  message(STATUS "${program} reports its full stack: ok")
endfunction()

# --- programs by find_package and by pkg-config ----------------------------------------------------------------------
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
foreach(form IN ITEMS static shared)
  set(build "${WORK_DIR}/${form}")
  step("${form}, find_package: configure" "${CMAKE_COMMAND}" -S "${CONSUMER_DIR}" -B "${build}" -G "${GENERATOR}"
       "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DFORM=${form}")
  step("${form}, find_package: build" "${CMAKE_COMMAND}" --build "${build}")
  foreach(program IN ITEMS consumer sort everything)
    step("${form}, find_package: run ${program}" "${build}/${program}")
  endforeach()
  overflows("${build}/large_frame")

  set(package weft)
  set(modes "--static" "--short-errors")
  if(form STREQUAL "shared")
    set(package weft-shared)
    set(modes "--short-errors")
  endif()
  ask_pkg_config(cflags --cflags ${package})
  foreach(source IN ITEMS main sort large_frame)
    step("${form}, pkg-config: compile ${source}" "${CXX}" -std=c++20 -c "${CONSUMER_DIR}/${source}.cpp" -o
         "${WORK_DIR}/${source}.o" ${cflags})
  endforeach()
  foreach(mode IN LISTS modes)
    ask_pkg_config(more ${mode} --cflags ${package})
    if(NOT more STREQUAL cflags)
      message(FATAL_ERROR "pkg-config ${mode} says '${more}', and '${cflags}' without ${mode}")
    endif()
    ask_pkg_config(libs ${mode} --libs ${package})
    foreach(source IN ITEMS main sort)
      step("${form}, pkg-config ${mode}: link ${source}" "${CXX}" "${WORK_DIR}/${source}.o" -o "${WORK_DIR}/plain" ${libs})
      step("${form}, pkg-config ${mode}: run ${source}" "${WORK_DIR}/plain")
    endforeach()
    step("${form}, pkg-config ${mode}: link large_frame" "${CXX}" "${WORK_DIR}/large_frame.o" -o "${WORK_DIR}/large_frame" ${libs})
    overflows("${WORK_DIR}/large_frame")
  endforeach()

  foreach(program IN ITEMS "${build}/everything" "${WORK_DIR}/plain")
    needed_by(needed "${program}")
    if(form STREQUAL "shared" AND NOT needed STREQUAL "libweft.so.${VERSION_OF_ABI}")
      message(FATAL_ERROR "${program} needs ${needed}; a program of the shared library needs it alone")
    elseif(form STREQUAL "static" AND needed MATCHES "libweft")
      message(FATAL_ERROR "${program} was to be linked with the static library, and needs ${needed}")
    endif()
  endforeach()
endforeach()

# --- a policy of its own, on real threads and on machines that are found by name in the moved installation only ------
file(COPY_FILE "${prefix}/share/weft/machines/opteron-8380-4x4.toml" "${prefix}/share/weft/machines/only-installed.toml")
step("policy module: configure" "${CMAKE_COMMAND}" -S "${EXAMPLES_DIR}/policy_module" -B "${WORK_DIR}/policy" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}")
step("policy module: build" "${CMAKE_COMMAND}" --build "${WORK_DIR}/policy")
foreach(package IN ITEMS weft weft-shared)
  ask_pkg_config(flags --cflags --libs ${package})
  step("policy module: build with pkg-config ${package}" "${CXX}" -std=c++20 "${EXAMPLES_DIR}/policy_module/program.cpp" -o
       "${WORK_DIR}/policy/plain-${package}" ${flags})
endforeach()

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
foreach(program IN ITEMS program plain-weft plain-weft-shared) # by CMake's flags, and by those of pkg-config
  run_with_module(${program} "opteron-8380-4x4" WEFT_ENGINE=model WEFT_MACHINE=only-installed)
endforeach()
run_with_module(program "typical" WEFT_ENGINE=model "WEFT_MACHINE=numa:4 core:8 pu:1")
