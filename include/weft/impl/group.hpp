#pragma once

#include <weft/hints.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace weft {

struct task;

namespace impl {
/// The waiter of a group or a frame: a suspended task, or a thread that is no worker (tagged).
using waiter_word = std::uintptr_t;
struct apart_tag {};
inline constexpr apart_tag apart{};
} // namespace impl

/// A set of children with one wait for all of them. A policy sees it in the reported zone; `task_group` and a
/// reported join contain one.
///
/// Protocol of `open_`: it holds 1 for the wait still to come, plus 1 for each child that another worker may
/// finish. The thread that brings it to 0 must wake the waiter, and may touch the group until it has done so:
///   G1  open_ >= 1 while no wait is suspended in it;
///   G2  a waiter stores itself in waiter_, then subtracts its own 1 (release): a thread that sees 0 sees it;
///   G3  a child's writes precede its decrement (release), the wait's return follows the last one (acquire).
struct group {
    group() noexcept = default;
    group(const group&) = delete;
    group& operator=(const group&) = delete;

    // ---- what a policy may ask
    task* owner() const noexcept { return owner_; } ///< null for a group made by a thread that is no worker
    std::uint64_t id() const noexcept { return id_; }
    const hints& hint() const noexcept { return hint_ ? *hint_ : no_hints; }
    template <class T>
    T& data() noexcept { ///< requirements::group_bytes, zero at group_begin
        return *static_cast<T*>(data_);
    }
    template <class T>
    const T& data() const noexcept {
        return *static_cast<const T*>(data_);
    }

    // ---- what the engine keeps
    const hints* hint_ = nullptr; ///< null: none were given
    std::atomic<std::int64_t> open_{1};
    std::atomic<impl::waiter_word> waiter_{0};
    void* waiter_home_ = nullptr; ///< the engine of a waiting task; written before waiter_
    std::atomic<std::uint32_t> flags_{0};
    std::atomic<std::uint32_t> spawned_{0}; ///< children so far, relaxed: the index of the next one
    std::exception_ptr error_{};            ///< written by the winner of flag_failed before its decrement
    task* owner_ = nullptr;
    group* around_ =
        nullptr; ///< the group of the task that made this one; its cancellation includes this one
    void* data_ = nullptr;
    std::uint64_t id_ = 0;

    /// No child is open and there is nothing to report: a wait has nothing to do.
    bool is_settled() const noexcept {
        return open_.load(std::memory_order_acquire) == 1 && // pairs with the last child's decrement (G3)
               flags_.load(std::memory_order_relaxed) == 0;
    }

    /// Children that threads outside have added and that are not spawned yet: engine/run/outside.hpp.
    std::atomic<std::uintptr_t> outside_{0};
    bool apart_ = false; ///< a future's: its child has no group, and is a root for the policy
    bool pair_ = false;  ///< a join's, of two children
    /// How often the rest of a task that adds children was handed to a thief, up to handovers_to_wide. Relaxed:
    /// it decides only how the next child is spawned. For futures, task::handovers_ counts it.
    std::atomic<std::uint8_t> handovers_{0};
    static constexpr std::uint8_t handovers_to_wide = 2;

    static constexpr std::uint32_t flag_failed = 1;    ///< some child threw; the first one has error_
    static constexpr std::uint32_t flag_cancelled = 2; ///< children not yet started are dropped
    static constexpr std::uint32_t flag_begun = 4;     ///< the policy was told of it by group_begin
    static constexpr std::uint32_t flag_shown = 16;    ///< group_begin has returned
    static constexpr std::uint32_t flag_traced =
        32; ///< the trace has children of the silent zone, and no wait yet
    static constexpr std::uint32_t flag_waiting = 8; ///< a task waits, and open_ lacks its 1 (set before G2)
    static constexpr std::uint32_t flag_wide = 64;   ///< the policy may queue its silent children
    /// A thread that is no worker has added children: they are roots of the default runtime.
    static constexpr std::uint32_t flag_outside = 128;
};

} // namespace weft
