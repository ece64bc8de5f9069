#pragma once

/// The sanitizer of this build, and its functions for stacks and fibers. GCC and Clang name their sanitizers
/// differently.
#if defined(__SANITIZE_ADDRESS__)
#    define WEFT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#    define WEFT_TSAN 1
#endif
#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define WEFT_ASAN 1
#    endif
#    if __has_feature(thread_sanitizer)
#        define WEFT_TSAN 1
#    endif
#endif
#if !defined(WEFT_ASAN) && !defined(WEFT_TSAN) && defined(__has_include)
#    if __has_include(<valgrind/valgrind.h>)
#        define WEFT_VALGRIND 1 // its requests are a few instructions that do nothing elsewhere
#        include <valgrind/valgrind.h>
#    endif
#endif
#ifdef WEFT_ASAN
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#    include <sanitizer/lsan_interface.h>
#endif
#ifdef WEFT_TSAN
#    include <sanitizer/tsan_interface.h>
#endif
