# cmake -DCARGO=cargo -DFLAGS=... -DFOLDER=... -P build.cmake
# Cargo knows itself what has to be built. Without crates or with an old Rust there is no program, and no failure.
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "CARGO_TARGET_DIR=${FOLDER}" "RUSTFLAGS=${FLAGS}" "${CARGO}" build --release --quiet
  WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}"
  RESULT_VARIABLE failed)
if(NOT failed EQUAL 0)
  message(STATUS "rayon and chili left out: cargo failed, see above")
  file(REMOVE "${FOLDER}/release/peers") # one of another time would be measured
endif()
