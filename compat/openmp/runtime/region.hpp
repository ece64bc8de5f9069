#pragma once

#include "runtime/launch.hpp"
#include "runtime/settings.hpp"
#include "runtime/tool.hpp"

#include "trace/write/names.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::openmp {

struct team;
struct seat;
struct task_group;
struct region;
class dependences;

/// A task among the dependences of its parent. Debuggers find it by __kmpc_task_get_depnode(), as libomp's: a list is the first member.
struct dependence_node {
    struct successor* successors; ///< guarded by the lock of those dependences
    region* task;
};
/// A task that waits for the end of another one. The layout is libomp's.
struct successor {
    dependence_node* node;
    successor* next;
};

/// A task region of OpenMP: that of an implicit task, or of an explicit one. The engine under both ABIs knows no other
/// tasks; where it runs is Weft's decision (launch.hpp).
///
///   word       | writer                                | readers               | order
///   references | the creator and the children          | the same              | acq_rel at the last one
///   children   | the region adds, its children subtract| the region, in a wait | release, acquire
///   event      | the body's end, omp_fulfill_event()   | the same              | acq_rel: the second of them ends the task
///
/// All other members belong to the code that runs the region; before it starts, to its creator.
struct region {
    team* in = nullptr;
    seat* on = nullptr; ///< the OpenMP thread that runs it; null until it starts
    region* parent =
        nullptr;   ///< the region that has created it; for an implicit task, the one with the construct
    int depth = 0; ///< number of explicit tasks around it up to the implicit one
    bool is_final = false;
    bool is_implicit = true;
    bool has_copies = false;   ///< its data were copied by constructors, and its body destroys them
    bool is_continued = false; ///< untied: the body has asked to be called once more
    bool is_counted = false;   ///< in the team's word: a task that may run after its creator has gone on
    task_group* group = nullptr;
    task_settings icv{};

    std::atomic<int> references{1};
    std::atomic<int> children{0};   ///< not yet ended; only those that are counted
    dependences* depends = nullptr; ///< of its children; made at the first one with a depend clause
    launch start{};

    /// What the next parallel or teams construct of the region is to have, if an entry point of its own has said it. 0: nothing
    struct construct {
        int threads = 0;
        int bind = 0;
        int teams = 0;
        int thread_limit = 0;
        const std::vector<int>* list = nullptr; ///< num_threads with several values
        bool is_strict = false; ///< the region is to have exactly so many threads; else `message`
        bool is_fatal = false;
        const char* message = nullptr;
    } next_construct{};
    struct doacross_bits* doacross =
        nullptr; ///< of the loop that the region is in, for compilers that begin it apart

    // ---- of an explicit task
    void (*code)(void*) = nullptr;
    trace::code_address outlined = 0; ///< what the compiler has made of the construct, for traces
    void* data = nullptr;
    std::atomic<int> missing{0}; ///< predecessors that have not ended
    std::uint32_t number = 0;    ///< in the dependences of its parent; 0: none
    dependence_node node{nullptr, this};
    bool ended = false; ///< likewise
    int priority = 0;
    std::size_t block_bytes = 0; ///< of its memory
    seat* creator = nullptr;     ///< whose count of queued tasks it is in
    seat* assigned = nullptr;    ///< a seat that was taken for it before it starts
    region* next = nullptr;      ///< in the list of tasks that wait for a seat

    static constexpr int no_event = 0, event_open = 1, body_ended = 2, fulfilled = 3;
    std::atomic<int> event{no_event};

    tool::task_view seen; ///< of a tool; without a value if there is none
};

/// Whether `r` is a descendant of `of`, in the same team.
inline bool descends_from(const region* r, const region* of) noexcept {
    while (r && !r->is_implicit && r->depth > of->depth) r = r->parent;
    return r == of;
}

} // namespace weft::openmp
