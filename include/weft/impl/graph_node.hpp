#pragma once

#include <weft/impl/announce.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace weft::impl {

enum class data_mode : std::uint8_t { read, write, concurrent, commutative };

/// A task of a graph. One cache line.
///
/// The thread that finishes a task and a thread that adds a task which waits for it meet in `after`. The
/// finisher puts the number of the run into its upper half, once, and then counts down the tasks that it
/// finds in the list. The adder puts its task into the list, and expects a count-down only if that number was
/// not there yet.
struct alignas(64) graph_node {
    void (*act)(void* room, bool run) = nullptr; ///< runs the closure that is in `room`, or destroys it
    std::atomic<std::int32_t> missing{
        0};                     ///< tasks of this run that it still waits for, and 1 while it is added
    std::int32_t waits_for = 0; ///< tasks that it waits for in any run; written under the graph's lock
    std::atomic<std::uint64_t> after{
        0};                     ///< run in which it has ended << 32 | newest edge to a task that waits for it
    std::uint32_t extras = 0;   ///< properties that most tasks do not have; 0: none
    std::uint32_t accesses = 0; ///< newest of the list of its declared accesses, if they are kept
    std::uint32_t next_ready = 0; ///< of a list of ready tasks; belongs to the thread that has the list
    std::atomic<std::uint32_t> failed_in{0}; ///< run in which it has thrown, or a task that it waits for has
    alignas(8) std::byte room[24]{};
};
static_assert(sizeof(graph_node) == 64);

/// A closure in the room of a node, or on the heap with its address in the room.
template <class Closure>
struct graph_closure {
    static constexpr bool fits = sizeof(Closure) <= sizeof(graph_node::room) && alignof(Closure) <= 8;

    template <class F>
    static void make(graph_node& n, F&& f) {
        happens_after(&n.room[1]); // a task that had the node before
        if constexpr (fits)
            ::new (static_cast<void*>(n.room)) Closure(std::forward<F>(f));
        else
            ::new (static_cast<void*>(n.room)) Closure*(new Closure(std::forward<F>(f)));
        happens_before(&n.room[0]);
        n.act = act;
    }

private:
    /// Traces tell the tasks of a graph apart by this function.
    static void act(void* room, bool run) {
        struct edges {
            std::byte* room;
            explicit edges(void* at) noexcept : room(static_cast<std::byte*>(at)) { happens_after(&room[0]); }
            ~edges() { happens_before(&room[1]); }
        } const around(room);
        if (!run) happens_after(&around.room[1]);
        Closure* own;
        if constexpr (fits)
            own = std::launder(static_cast<Closure*>(room));
        else
            own = *std::launder(static_cast<Closure**>(room));
        if (run) return static_cast<void>((*own)());
        if constexpr (fits)
            std::destroy_at(own);
        else
            delete own;
    }
};

} // namespace weft::impl
