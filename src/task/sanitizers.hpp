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

#include "queue/spin_lock.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>

// Of the sanitizer's runtime, if the program has one; null otherwise. The program may be built with a sanitizer and this
// library without it.
extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __tsan_ignore_thread_begin();
[[gnu::weak]] void __tsan_ignore_thread_end();
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
[[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t bytes);
[[gnu::weak]] void __lsan_unregister_root_region(const void* begin, std::size_t bytes);
}

namespace weft::sanitizer {

/// The program has the runtime of ThreadSanitizer.
inline bool has_tsan() noexcept { return __tsan_switch_to_fiber != nullptr; }
/// The program has the runtime of AddressSanitizer.
inline bool has_asan() noexcept { return __sanitizer_start_switch_fiber != nullptr; }

#ifdef WEFT_TSAN
// It sees the atomic operations of this build, which these edges would hide.
inline void happens_before(const void*) noexcept {}
inline void happens_after(const void*) noexcept {}
struct unseen {
    unseen() noexcept {}
};
#else
/// All that the calling thread has done so far comes before what follows a happens_after() of the same address. For
/// edges between closures of the program that the public headers cannot announce: README.md.
inline void happens_before(const void* edge) noexcept {
    if (__tsan_release) [[unlikely]]
        __tsan_release(const_cast<void*>(edge));
}
inline void happens_after(const void* edge) noexcept {
    if (__tsan_acquire) [[unlikely]]
        __tsan_acquire(const_cast<void*>(edge));
}
/// While it lives, ThreadSanitizer ignores what this thread reads and writes: what memcpy, malloc and free, which it
/// watches in all code, do with memory that the workers hand to each other. No switch of fibers in it.
class unseen {
public:
    unseen() noexcept {
        if (__tsan_ignore_thread_begin) [[unlikely]]
            __tsan_ignore_thread_begin();
    }
    ~unseen() {
        if (__tsan_ignore_thread_end) [[unlikely]]
            __tsan_ignore_thread_end();
    }
    unseen(const unseen&) = delete;
    unseen& operator=(const unseen&) = delete;
};
#endif

/// For a policy's bytes of a task, which one worker writes and another reads.
inline void* copy_unseen(void* to, const void* from, std::size_t bytes) noexcept {
    const unseen of_policies;
    return std::memcpy(to, from, bytes);
}
inline void clear_unseen(void* at, std::size_t bytes) noexcept {
    const unseen of_policies;
    std::memset(at, 0, bytes);
}

/// A lock that announces its order, for data that memcpy, malloc or free touches.
class announced_lock {
public:
    void lock() noexcept {
        lock_.lock();
        happens_after(this);
    }
    void unlock() noexcept {
        happens_before(this);
        lock_.unlock();
    }

private:
    queue::spin_lock<> lock_;
};

/// The leak check searches memory from the global allocator, stacks and static objects for pointers, and no other pages: what
/// is linked from these alone counts as lost, unless they are registered.
inline void add_roots(const void* pages, std::size_t bytes) noexcept {
    if (__lsan_register_root_region) [[unlikely]]
        __lsan_register_root_region(pages, bytes);
}
/// Before the pages go back, with the same range.
inline void remove_roots(const void* pages, std::size_t bytes) noexcept {
    if (__lsan_unregister_root_region) [[unlikely]]
        __lsan_unregister_root_region(pages, bytes);
}

/// What a sanitizer keeps for a stack.
struct stack_state {
    void* tsan_fiber = nullptr;
    void* asan_fake_stack = nullptr;
    const void* asan_bottom = nullptr; ///< of a thread's own stack, known once it was left
    std::size_t asan_bytes = 0;
};

/// The thread's own stack, on which it runs now.
inline void begin_thread(stack_state& s) noexcept {
    if (has_tsan()) s.tsan_fiber = __tsan_get_current_fiber();
}

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
inline constexpr bool is_instrumented = true;
#else
inline constexpr bool is_instrumented = false;
#endif
/// For a library that is not instrumented: set by the first pool of fibers, if the program has a sanitizer. relaxed: it comes
/// before every switch
extern constinit std::atomic<bool> hears_of_switches;

} // namespace weft::sanitizer
