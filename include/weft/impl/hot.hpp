#pragma once

#include <atomic>
#include <cstdint>

/// The words that the fast path of a fork touches, and the frame that a fork links.
///
/// A *frame* is an entry of the chain of its fiber: the second closure of a join, or the continuation of a
/// `task_group::run`. The chain runs from the oldest entry to the youngest by `next`, so the oldest
/// unexposed entry is found in one step from the fiber's `split`. Only the thread that runs the fiber (its
/// own code or its own signal handler) touches the chain (H1); thieves see an entry only after it was handed
/// to them.
namespace weft {
struct task;
}

namespace weft::impl {

struct worker;

struct frame {
    frame* next; ///< younger entry; written by the owner, null for the youngest
    bool (*run)(
        frame*); ///< runs the closure on the thief's stack, false if it threw; null for a continuation

    // The fields below are not initialised by a fork. The owner writes them when it exposes the entry, before
    // the release that hands it over; afterwards only `done` is shared.
    task* of;             ///< the silent task that the entry belongs to
    const void* bytes;    ///< what the policy keeps with `of`, as it was then
    std::uintptr_t done;  ///< raw storage of the completion word, see engine/run/completion.hpp
    std::int32_t thief;   ///< worker to which it was handed, or not_reclaimable
    std::uint32_t number; ///< in the trace; written by a fork that is traced, 0 by an exposure that is not
};

/// One per thread. `limit` decides in one comparison whether a fork may take its fast path:
/// an entry at address f is ordinary iff f < limit. The entries of a fiber lie at falling addresses, so
/// - limit == address of the youngest exposed entry: exactly the exposed entries are not ordinary (H4);
/// - limit == 0: nothing is ordinary, every fork and every return from one takes the slow path. This is the
///   attention word of the thread (H5): idle workers, reported zones and threads that are not workers have
///   it at 0.
/// Writers: the thread itself, its signal handler, and thieves, which store 0 only (relaxed; an overwritten
/// request is found again by the check that follows each store of the owner, see engine/idle/README.md).
struct hot_words {
    std::atomic<std::uintptr_t> limit; ///< offset 0, used by name in assembly
    frame* head;                       ///< offset 8: youngest entry of the plain form
    worker* self;                      ///< offset 16: null on threads that are not workers
    std::atomic<bool> in_runtime;      ///< offset 24: the thread runs scheduler code: no handler must act
    std::atomic<bool> signalled;       ///< offset 25: set by the exposure handler if it finds in_runtime set
    std::atomic<std::uint8_t> holds; ///< offset 26: open tick_hold objects; while there are any, no tick acts
};

#if defined(__x86_64__)
#    define WEFT_TLS_BY_OFFSET 1
// A fiber may go on, on another thread, after any call (H6). The *offset* of a thread-local word may be kept
// in a register, its *address* may not, and compilers do keep addresses. Hence the accesses spelled out.
extern "C" {
extern thread_local constinit hot_words weft_hot __attribute__((tls_model("initial-exec")));
}
#    if defined(WEFT_SHARED) || (defined(__PIC__) && !defined(__PIE__))
// Not volatile: the compiler may reuse an offset that it holds in a register.
[[gnu::always_inline]] inline std::uintptr_t hot_offset() noexcept {
    std::uintptr_t offset;
    asm("movq weft_hot@gottpoff(%%rip), %0" : "=r"(offset));
    return offset;
}
#        define WEFT_TLS_WORD(n) "%%fs:" #n "(%[offset])"
#        define WEFT_TLS_OFFSET [offset] "r"(hot_offset())
#    else // the linker knows it
#        define WEFT_TLS_WORD(n) "%%fs:weft_hot@tpoff+" #n
#        define WEFT_TLS_OFFSET [offset] "i"(0)
#    endif

/// True when the entry at `f` is not ordinary. Ordered by a compiler barrier on both sides.
[[gnu::always_inline]] inline bool at_limit(const void* f) noexcept {
    bool slow;
    asm inline volatile("cmpq " WEFT_TLS_WORD(0) ", %[f]"
                        : "=@ccae"(slow)
                        : [f] "r"(f), WEFT_TLS_OFFSET
                        : "memory");
    return slow;
}

[[gnu::always_inline]] inline frame* hot_head() noexcept {
    frame* head;
    asm inline volatile("movq " WEFT_TLS_WORD(8) ", %[head]" : [head] "=r"(head) : WEFT_TLS_OFFSET);
    return head;
}

[[gnu::always_inline]] inline void set_hot_head(frame* head) noexcept {
    asm inline volatile("movq %[head], " WEFT_TLS_WORD(8) : : [head] "r"(head), WEFT_TLS_OFFSET : "memory");
}

[[gnu::always_inline]] inline worker* hot_self() noexcept {
    worker* self;
    asm inline volatile("movq " WEFT_TLS_WORD(16) ", %[self]" : [self] "=r"(self) : WEFT_TLS_OFFSET);
    return self;
}

// The words by which a thread keeps the tick away (engine/threads/preemption, Y1). Each is written by one instruction:
// code that read the address of the word first could be preempted before the store, and mark another thread.
[[gnu::always_inline]] inline void hot_enter_runtime() noexcept {
    asm inline volatile("movb $1, " WEFT_TLS_WORD(24) : : WEFT_TLS_OFFSET : "memory");
}
[[gnu::always_inline]] inline void hot_leave_runtime() noexcept {
    asm inline volatile("movb $0, " WEFT_TLS_WORD(24) : : WEFT_TLS_OFFSET : "memory");
}
[[gnu::always_inline]] inline bool hot_signalled() noexcept {
    bool is;
    asm inline volatile("cmpb $0, " WEFT_TLS_WORD(25) : "=@ccne"(is) : WEFT_TLS_OFFSET : "memory");
    return is;
}
[[gnu::always_inline]] inline void hot_hold() noexcept {
    asm inline volatile("incb " WEFT_TLS_WORD(26) : : WEFT_TLS_OFFSET : "memory", "cc");
}
[[gnu::always_inline]] inline void hot_unhold() noexcept {
    asm inline volatile("decb " WEFT_TLS_WORD(26) : : WEFT_TLS_OFFSET : "memory", "cc");
}

#    undef WEFT_TLS_WORD
#    undef WEFT_TLS_OFFSET
#else
// Elsewhere the same accesses are calls that the compiler cannot see through.
bool at_limit(const void* f) noexcept;
frame* hot_head() noexcept;
void set_hot_head(frame* head) noexcept;
worker* hot_self() noexcept;
void hot_enter_runtime() noexcept;
void hot_leave_runtime() noexcept;
bool hot_signalled() noexcept;
void hot_hold() noexcept;
void hot_unhold() noexcept;
#endif

/// While it exists, the calling thread takes no tick, so the code stays on its worker: for code outside of the runtime that
/// uses what belongs to its worker, or holds a lock that the runtime takes, too. Objects nest. None exists across a switch.
class tick_hold {
public:
    [[gnu::always_inline]] tick_hold() noexcept { hot_hold(); }
    [[gnu::always_inline]] ~tick_hold() { hot_unhold(); }
    tick_hold(const tick_hold&) = delete;
    tick_hold& operator=(const tick_hold&) = delete;
};

/// Orders the stores of the owner against its own signal handler; no instruction.
[[gnu::always_inline]] inline void handler_fence() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

} // namespace weft::impl
