#pragma once

/// Times a call that may block its thread, and notes where it was called from.
#include "notes.hpp"

#include <cerrno>
#include <dlfcn.h>

namespace weft::watch {

/// A function of the C library that this library stands in front of.
template <class Function>
class original {
public:
    explicit constexpr original(const char* name) noexcept : name_(name) {}

    Function* get() noexcept {
        // relaxed: all threads find the same address, and nothing else comes with it
        Function* f = found_.load(std::memory_order_relaxed);
        if (!f) {
            f = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
            found_.store(f, std::memory_order_relaxed);
        }
        return f;
    }

private:
    const char* name_;
    std::atomic<Function*> found_ = nullptr;
};

/// A call that may only copy has waited if it takes longer than this. What a buffer holds is copied in a fraction of it, also
/// with a call of the kernel that finds the data in memory.
inline constexpr std::uint64_t longest_copy_ns = 20'000;
/// As many bytes are certainly copied within that time.
inline constexpr std::size_t most_copied = 1 << 14;

inline thread_local bool is_inside = false; ///< a watched call calls another one: the outer one counts

/// Calls `call`, and notes the time in it that the thread was on no core. Leaves errno as the call has left it.
template <class Call>
[[gnu::always_inline]] inline auto watched(state what, std::uint64_t object, Call call) {
    if (is_inside || !is_noting()) return call();
    is_inside = true;
    const std::uint64_t used = thread_ns();
    const std::uint64_t began = now_ns();
    const auto result = call();
    const int error = errno;
    const std::uint64_t elapsed = now_ns() - began;
    if (elapsed >= shortest_wait_ns) {
        const std::uint64_t on_core = thread_ns() - used;
        const std::uint64_t blocked = elapsed > on_core ? elapsed - on_core : 0;
        if (blocked >= shortest_wait_ns)
            note(what, take_stack(1), blocked, object, no_place);
        else
            note_short(blocked);
    }
    is_inside = false;
    errno = error;
    return result;
}

/// The same for a call that usually copies from or to a buffer, which takes less than asking for the thread's processor time
/// does. A call that takes long has waited.
template <class Call>
[[gnu::always_inline]] inline auto watched_copy(state what, Call call) {
    if (is_inside || !is_noting()) return call();
    is_inside = true;
    const std::uint64_t began = now_ns();
    const auto result = call();
    const int error = errno;
    const std::uint64_t elapsed = now_ns() - began;
    if (elapsed >= longest_copy_ns) note(what, take_stack(1), elapsed, 0, no_place);
    is_inside = false;
    errno = error;
    return result;
}

} // namespace weft::watch
