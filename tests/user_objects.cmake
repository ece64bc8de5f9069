# Programs that tests link and run, compiled by the build as a user would compile them: by a compiler's command and nothing
# of this project's own flags. The build compiles an object again if its source, one of the headers that it includes, or
# the command has changed. A test that compiled it itself would do so each time that it runs.
#
# weft_add_user_object(OBJECT COMPILER SOURCE OPTION...) makes the rule for the file OBJECT. Beside an object NAME.o lie
# NAME.cpp and NAME.command, the source and the command (one argument a line) that it was made of: docs/_ext/ahead.py
# takes an object in place of a compilation only if both are the same.
function(weft_add_user_object object compiler source)
  cmake_path(REMOVE_EXTENSION object LAST_ONLY OUTPUT_VARIABLE stem)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE shown)
  list(JOIN ARGN "\n" options)
  file(CONFIGURE OUTPUT "${stem}.wanted" CONTENT "${compiler}\n${options}\n" @ONLY)
  add_custom_command(
    OUTPUT "${object}"
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${compiler}" ${ARGN} -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o
            "${object}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${source}" "${stem}.cpp"
    COMMAND "${CMAKE_COMMAND}" -E copy "${stem}.wanted" "${stem}.command"
    DEPENDS "${source}"
    DEPFILE "${object}.d"
    COMMENT "Compiling ${shown} as a user would"
    VERBATIM)
endfunction()
