#pragma once

#include <type_traits>
#include <utility>

/// Functions by which an instrumented program announces happens-before edges to its sanitizer. If the library
/// itself is not instrumented, ThreadSanitizer does not see the atomic operations by which a closure reaches
/// another worker and its results come back. The templates of the public headers are compiled in the program,
/// and announce these edges where they call a closure. src/task/README.md has the list. Everything here is
/// empty in a program without ThreadSanitizer, and in a build of Weft itself with it (WEFT_INSTRUMENTED),
/// whose atomic operations it sees.
#if defined(__SANITIZE_THREAD__)
#    define WEFT_PROGRAM_HAS_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#    define WEFT_PROGRAM_HAS_ASAN 1
#endif
#if defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define WEFT_PROGRAM_HAS_TSAN 1
#    endif
#    if __has_feature(address_sanitizer)
#        define WEFT_PROGRAM_HAS_ASAN 1
#    endif
#endif
#if defined(WEFT_PROGRAM_HAS_TSAN) && !defined(WEFT_INSTRUMENTED)
#    define WEFT_ANNOUNCES 1
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

/// How a fork is compiled. AddressSanitizer may keep local variables outside of the stack (its search for uses after
/// return), but the frames of a fiber must lie at falling addresses (H4). A function that it does not instrument keeps
/// them on the stack, as long as it is not inlined. What is inlined into it is not instrumented either: GCC 12 would mark
/// the end of a variable's life there and not its beginning.
#if defined(WEFT_PROGRAM_HAS_ASAN)
#    define WEFT_FORK_FUNCTION [[gnu::noinline, gnu::no_sanitize_address]]
#    define WEFT_PART_OF_FORK [[gnu::always_inline, gnu::no_sanitize_address]]
#else
#    define WEFT_FORK_FUNCTION [[gnu::always_inline]]
#    define WEFT_PART_OF_FORK [[gnu::always_inline]]
#endif

namespace weft::impl {

/// All that the calling code has done so far comes before what follows a happens_after() of the same address.
[[gnu::always_inline]] inline void happens_before([[maybe_unused]] const void* edge) noexcept {
#ifdef WEFT_ANNOUNCES
    __tsan_release(const_cast<void*>(edge));
#endif
}
[[gnu::always_inline]] inline void happens_after([[maybe_unused]] const void* edge) noexcept {
#ifdef WEFT_ANNOUNCES
    __tsan_acquire(const_cast<void*>(edge));
#endif
}

/// Calls the closure at `at`, between the edges from announce_call() and to announce_end(). Their addresses are in the
/// closure, which the caller keeps until its end: it may be read only after the first edge.
template <class F>
void call_announced(void* at) {
    struct edge {
        const char* closure;
        ~edge() { happens_before(closure + 1); }
    } const at_end{static_cast<const char*>(at)};
    happens_after(at_end.closure);
    (*static_cast<F*>(at))();
}
template <class F>
[[gnu::always_inline]] inline void* announce_call(F& f) noexcept {
    void* const at = const_cast<void*>(static_cast<const void*>(&f));
    happens_before(at); // its address is known outside from here on, so its fields are written before
    return at;
}
template <class F>
[[gnu::always_inline]] inline void announce_end(F& f) noexcept {
    happens_after(static_cast<const char*>(static_cast<const void*>(&f)) + 1);
}

/// The code around a wait: what the children of `edge` have done comes before what follows, an exception included.
class announced_wait {
public:
    [[gnu::always_inline]] explicit announced_wait(const void* edge) noexcept : edge_(edge) {}
    [[gnu::always_inline]] ~announced_wait() { happens_after(edge_); }
    announced_wait(const announced_wait&) = delete;
    announced_wait& operator=(const announced_wait&) = delete;

private:
    const void* edge_;
};

#ifdef WEFT_ANNOUNCES
/// The closure of a child of the group at `group`: what it has done, its destruction included, comes before the end of
/// the group's wait.
template <class F>
class announced_child {
public:
    template <class Closure>
    announced_child(Closure&& f, const void* group) : at_end_(group)
                                                    , f_(std::forward<Closure>(f)) {}
    void operator()() { f_(); }

private:
    struct edge {
        const void* group;
        explicit edge(const void* of) noexcept : group(of) {}
        edge(edge&& other) noexcept : group(std::exchange(other.group, nullptr)) {}
        ~edge() {
            if (group) happens_before(group);
        }
    } at_end_; // destroyed last
    F f_;
};
template <class F>
announced_child<std::decay_t<F>> announce_child(F&& f, const void* group) {
    return {std::forward<F>(f), group};
}
#else
template <class F>
[[gnu::always_inline]] inline F&& announce_child(F&& f, const void*) noexcept {
    return std::forward<F>(f);
}
#endif

} // namespace weft::impl
