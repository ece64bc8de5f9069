# WEFT_SANITIZER: the flags for everything in this project, and what the tests need to run with these flags.
#   WEFT_TEST_ENVIRONMENT   environment of every test
#   WEFT_TEST_LAUNCHER      command put before every test executable
#   WEFT_TEST_SANITIZER_OPTIONS  compile options of the tests themselves, whose compile time exceeds their run time
set(WEFT_TEST_ENVIRONMENT "")
set(WEFT_TEST_LAUNCHER "")
set(WEFT_TEST_SANITIZER_OPTIONS -O0 -g1)

if(WEFT_SANITIZER STREQUAL "address")
  set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # The library keeps these checks; the tests do without them.
  list(APPEND WEFT_TEST_SANITIZER_OPTIONS -fno-sanitize=null,vptr,object-size,pointer-overflow)
  # Fake stacks belong to threads; a fiber that moves between threads would carry pointers into another thread's
  # fake stack.
  list(APPEND WEFT_TEST_ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0:strict_string_checks=1"
       "UBSAN_OPTIONS=print_stacktrace=1")
elseif(WEFT_SANITIZER STREQUAL "thread")
  set(flags -fsanitize=thread -fno-omit-frame-pointer)
  # ThreadSanitizer sees the library's atomic operations, so the headers announce nothing that could hide a mistake in them.
  add_compile_definitions(WEFT_INSTRUMENTED)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan) # "atomic_thread_fence is not supported"
  endif()
  list(APPEND WEFT_TEST_ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
  # Kernels with 32 bits of mmap randomness place libraries at addresses that the runtime of GCC 12 refuses.
  find_program(SETARCH_PROGRAM setarch)
  if(SETARCH_PROGRAM)
    execute_process(COMMAND "${SETARCH_PROGRAM}" -R true RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(WEFT_TEST_LAUNCHER "${SETARCH_PROGRAM}" -R)
    endif()
  endif()
elseif(NOT WEFT_SANITIZER STREQUAL "")
  message(FATAL_ERROR "WEFT_SANITIZER is '${WEFT_SANITIZER}'; it may be empty, 'address' or 'thread'")
endif()

if(WEFT_SANITIZER)
  add_compile_options(${flags})
  add_link_options(${flags})
endif()
