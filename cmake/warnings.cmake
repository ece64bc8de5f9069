# Warnings for everything in this project, and for nothing around it (directory scope).
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarm of GCC 12 for "literal" + std::string (GCC bug 105651).
  add_compile_options(-Wno-restrict)
  # The instrumentation hides initialisations from this one.
  if(WEFT_SANITIZER)
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
else()
  # Clang reports std::stable_sort of libstdc++ 12, which calls what libstdc++ has deprecated.
  add_compile_options(-Wno-deprecated-declarations)
endif()
