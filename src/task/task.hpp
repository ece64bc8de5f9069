#pragma once

#include "queue/locked_list.hpp"

#include <weft/hints.hpp>
#include <weft/impl/group.hpp>
#include <weft/impl/hot.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

struct fiber;
struct claim;
namespace engine {
struct arena;
struct kernel_thread;
} // namespace engine

using worker_id = int;
using time_ns = std::int64_t;

/// A datum that a task of a graph declares. Fork-join tasks declare none.
struct data_access {
    std::uint64_t datum;
    std::uint64_t bytes;
    std::uint8_t mode;
    int home; ///< memory node, -1 unknown
};

/// What a task has used itself, without its children.
struct task_counts {
    std::uint64_t misses = 0; ///< cache lines requested from the level that its core shares with others
    std::uint64_t instructions = 0;

    task_counts& operator+=(const task_counts& more) noexcept {
        misses += more.misses;
        instructions += more.instructions;
        return *this;
    }
    friend task_counts operator-(const task_counts& all, const task_counts& before) noexcept {
        return {all.misses - before.misses, all.instructions - before.instructions};
    }
};

/// What the engine does with a task that a worker gets.
enum class task_state : std::uint8_t {
    fresh,     ///< its body has not begun
    suspended, ///< fiber_ holds it and is fully saved
    running,
};

/// A unit that a policy sees: a spawned closure, a root, a frame taken by a thief, or the continuation of one
/// of them. Policies use the accessors and their own bytes (`data`); the fields with a trailing underscore
/// are the engine's.
///
/// Memory: [task][policy bytes][closure], one block, owned by the engine from its creation to the return of
/// policy::finished. A task is in at most one queue at a time, so one hook is enough.
struct alignas(std::max_align_t) task {
    // ---- the policy's view
    task* parent() const noexcept { return parent_; } ///< valid while the parent's group is open
    group* parent_group() const noexcept {
        return parent_ ? group_ : nullptr;
    } ///< null for a root and an exposed frame
    const hints& hint() const noexcept { return hint_; }
    std::uint64_t id() const noexcept { return id_; } ///< hash of the path of child indexes; 0: unknown
    int level() const noexcept { return level_; } ///< root 0, child = parent + 1; frames have their task's
    int index() const noexcept { return index_; } ///< among the children of its group
    int root() const noexcept { return root_; }   ///< number of the root it descends from
    int rank() const noexcept { return rank_; }   ///< of a share of a moldable task
    int width() const noexcept { return width_; }
    /// The policy is still to mold it: width() is what the program has asked for.
    bool molds() const noexcept { return molds_; }
    bool is_share() const noexcept { return share_; } ///< of a moldable task: rank() and width() are its own
    /// Of a graph's task, if requirements::levels is set: the number of tasks on the longest path from it to
    /// an end, as far as it was known when the task became ready.
    int bottom_level() const noexcept { return bottom_level_; }
    /// The run of a graph that it belongs to; 0: none.
    std::uint64_t graph() const noexcept { return graph_; }
    /// Its number among the tasks of the graph.
    std::uint32_t graph_number() const noexcept { return graph_number_; }
    std::span<const data_access> uses() const noexcept { return uses_; }
    preemption preempt() const noexcept { return preempt_; } ///< off, yield or klt
    bool last() const noexcept { return last_; } ///< the second closure of a join, the last of an invoke
    bool fresh() const noexcept { return state_ == task_state::fresh; }
    bool is_of_wide_group() const noexcept { return of_wide_group_; } ///< requirements::wide_groups: queued
    template <class T>
    T& data() noexcept { ///< requirements::task_bytes, zero at first; a frame's are a copy of its task's
        static_assert(alignof(T) <= alignof(std::max_align_t));
        return *reinterpret_cast<T*>(this + 1);
    }
    template <class T>
    const T& data() const noexcept {
        static_assert(alignof(T) <= alignof(std::max_align_t));
        return *reinterpret_cast<const T*>(this + 1);
    }

    // ---- the engine's fields
    queue::list_hook queue_link{};          ///< for the policy while the task is ready
    void (*call_)(void* closure) = nullptr; ///< runs and destroys the closure; may throw
    void (*drop_)(void* closure) noexcept =
        nullptr; ///< destroys a closure that never runs; null: nothing to do
    void* closure_ = nullptr;
    task* spare_ = nullptr;        ///< records for the shares of a moldable task, linked by this field
    impl::frame* frame_ = nullptr; ///< of a task made from an exposed frame
    fiber* fiber_ = nullptr;       ///< while suspended
    engine::kernel_thread* stopped_with_ =
        nullptr; ///< while suspended: the kernel thread that goes on with it
    task* parent_ = nullptr;
    group* group_ = nullptr; ///< counts it
    group* scope_ = nullptr; ///< the innermost group whose cancellation cancels it
    claim* claim_ = nullptr; ///< at the gate: its own, or that of the nearest task around it that has one
    /// Its workers run the task; valid while a worker holds it or a queue contains it.
    engine::arena* arena_ = nullptr;
    std::uint64_t id_ = 0;
    hints hint_{};
    std::span<const data_access> uses_{};
    std::uint64_t graph_ = 0;
    time_ns self_ns_ = 0;  ///< metered run time so far, requirements::own_usage
    time_ns birth_ns_ = 0; ///< time of its start, for usage::wall
    task_counts counts_{}; ///< metered so far, requirements::own_misses
    std::int32_t level_ = 0;
    std::int32_t index_ = 0;
    std::int32_t root_ = 0;
    preemption preempt_ = preemption::off; ///< never runtime_default
    std::int32_t bottom_level_ = 0;
    std::uint32_t graph_number_ = 0;
    std::int16_t rank_ = 0;
    std::int16_t width_ = 1;
    std::int16_t offered_by_ = -1; ///< the worker that has offered it ahead of an ask, until it begins
    std::uint32_t children_ = 0;   ///< spawned so far in all its groups: the next child's path index
    task_state state_ = task_state::fresh;
    bool last_ = false;
    bool silent_ = false;        ///< its spawns are not reported
    bool is_root_ = false;       ///< handed in by submit_root()
    bool prolongs_run_ = false;  ///< observation::run_continues()
    bool claims_ = false;        ///< claim_ is its own
    bool share_ = false;         ///< of a moldable task
    bool molds_ = false;         ///< a moldable task without its shares
    bool of_wide_group_ = false; ///< a queued child; counted down in bulk, see group_count.hpp
    bool has_pages_ = false;     ///< its block is large, and of pages of its own
    bool queued_ = false;        ///< a child that the policy has, in worker_counters::queued
    /// How often its rest was handed to a thief while it made a future, up to group::handovers_to_wide.
    std::uint8_t handovers_ = 0;
    std::uint8_t arrives_as_ = 0; ///< the ready_reason of a task handed in from outside
    std::uint32_t block_bytes_ = 0;
    std::uint32_t number_ = 0; ///< in the trace; 0: there is none
};

static_assert(sizeof(task) % alignof(std::max_align_t) == 0,
              "the policy's bytes begin right behind a record");

/// The most bytes a policy may ask for in a task.
inline constexpr std::size_t max_task_bytes = 64;
inline constexpr std::size_t max_group_bytes = 128;

} // namespace weft
