#pragma once

#include "runtime/current.hpp"
#include "runtime/launch.hpp"
#include "runtime/region.hpp"
#include "runtime/wait.hpp"
#include "runtime/work_share.hpp"

#include "engine/worker/runtime_entry.hpp"
#include "queue/cache_line.hpp"
#include "queue/spin_lock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::openmp {

struct block; // memory of a task

/// A thread of a team, as OpenMP knows it: a number, and the right to run. One task region holds it at a time. A region that
/// waits at a scheduling point lends it to explicit tasks, and takes it back when it goes on.
///
/// E1  Tied tasks: a region keeps its seat until it ends, so omp_get_thread_num() is the same all the time.
/// E2  Task scheduling constraint (OpenMP 5.1, 2.12.6): a seat is given to a task only if that task descends from every
///     region that waits on the seat, but for those that wait at a barrier.
/// E3  A region that wants its seat back is preferred to tasks that want to start.
struct alignas(2 * queue::k_cache_line_bytes) seat {
    engine::without_ticks<queue::spin_lock<>> lock{};
    std::atomic<bool> is_taken{true}; ///< written under the lock; relaxed: without it a hint
    int wanted = 0;                   ///< guarded by the lock: regions that want it back (E3)
    struct lender* lenders = nullptr; ///< likewise: regions that wait on it

    int number = 0;
    team* of = nullptr;
    region implicit{};

    // ---- what belongs to the code that holds the seat
    work_share* share = nullptr; ///< the last work-sharing construct that it has met
    loop_position at{};          ///< in that one
    block* spare_blocks = nullptr;
    work_share* spare_share = nullptr;
    team* spare_team = nullptr;        ///< of a parallel region inside
    class crew* crew_inside = nullptr; ///< of the teams inside; null: none has needed one
    placement place{};
    int shown_level = -1, shown_size = 0;    ///< of the last region of the thread whose affinity was shown
    bool is_of_first_thread = false;         ///< of the program's first initial thread
    struct private_data* privates = nullptr; ///< copies of threadprivate data that the runtime keeps
    // of a tool
    region* shown = nullptr;                ///< that it believes to run here (T2)
    tool::work works_on = tool::work::none; ///< the construct that it has seen begin and not end

    /// Tasks that it has created and that have not started. It adds; the tasks subtract when they start. relaxed: a
    /// measure of how much there is to do
    std::atomic<int> queued{0};
};

/// A region that waits on a seat. On the stack of the region.
struct lender {
    region* who;
    bool at_barrier;
    lender* next = nullptr;
};

/// The threads of a parallel region. `word` is its barrier:
///
///   upper half: the number of barriers that have been passed;
///   lower half: threads that have not arrived at the next one, plus explicit tasks that have not ended.
///
/// M1  A task is counted before its creator arrives, so the lower half is 0 only when all threads have arrived and no
///     task is left. The thread or task that brings it to 0 ends the barrier, and is the only one that changes the word
///     until it has stored the next value.
/// M2  The end of the region has a count of its own, `left`, since threads may come there while others still wait at a
///     barrier of the region that was cancelled. The thread that comes last arrives in the word for all.
/// M3  Arriving at the end is the last use of the team by all threads but thread 0; ending the barrier is the last use by
///     the one that ends it: thread 0 may use the memory of the team again from there on. What follows uses the address
///     only (W2).
struct team {
    explicit team(int threads);
    ~team();
    team(const team&) = delete;
    team& operator=(const team&) = delete;

    const int size;
    const std::unique_ptr<seat[]> seats;
    team* outer = nullptr;
    int level = 0;
    int active_level = 0;
    void (*code)(void*) = nullptr;
    void* data = nullptr;
    trace::code_address outlined = 0; ///< as region::outlined, of the threads but thread 0

    std::atomic<std::uint64_t> word;
    std::atomic<int> left{0};              ///< threads that have not come to the end; acq_rel, like the word
    std::atomic<bool> is_cancelled{false}; ///< relaxed: a thread that misses it looks again
    /// The loop or the sections that the threads are in is cancelled; until the next barrier. Relaxed likewise.
    std::atomic<bool> is_share_cancelled{false};
    work_share first_share{}; ///< in front of the first construct

    engine::without_ticks<queue::spin_lock<>> lock{};
    region* first_seatless = nullptr; ///< tasks that found no seat; guarded by the lock
    region* last_seatless = nullptr;
    std::atomic<int> seatless{0}; ///< how many; see seats.cpp

    // ---- teams construct
    int league_size = 1, league_rank = 0;

    // ---- of thread 0
    context* entered_in = nullptr; ///< whose region was changed when the region began
    region* around = nullptr;      ///< that region; null: an initial thread
    bool is_foreign = false;       ///< the context was made for this region
    bool may_stall =
        false; ///< its threads may have to wait for workers (stall.hpp). Written before they start
    context own{};
    task_group* reduces = nullptr; ///< of GOMP_parallel_reductions

    // ---- of a tool
    tool::data noted{};
    bool is_seen = false;       ///< a tool has seen the beginning. Written before the threads start
    bool is_by_program = false; ///< the program calls the code, not the library
    /// Threads whose implicit tasks have not ended for the tool (T3). They subtract (release), thread 0 waits for the others
    /// (acquire): the subtraction is the last use of the team.
    std::atomic<int> unseen{0};

    // ---- OMP_DISPLAY_AFFINITY
    std::vector<int> shown_places{}; ///< of the threads, when they were shown
    bool has_new_places = false;

    static std::uint32_t open(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w); }
    static std::uint32_t phase(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w >> 32); }

    void count_task() noexcept {
        word.fetch_add(1, std::memory_order_relaxed);
    } // the creator has not arrived (M1)
    /// A thread has arrived, or a task has ended.
    void count_down(std::uint32_t n = 1) noexcept;
};

/// The thread of a seat is the one that has begun the region, if its number is 0. This is the seat that it has had all along.
inline const seat& thread_of(const seat& of) noexcept {
    const seat* s = &of;
    while (s->number == 0 && s->of->around) s = s->of->around->on;
    return *s;
}

/// Waits at a barrier of the team. `cancellable`: returns true, without having passed, if the region is cancelled.
/// `kind` and `from` (where the program has called): for a tool.
bool pass_barrier(region& me, bool cancellable, tool::sync kind = tool::sync::barrier_workshare,
                  const void* from = nullptr);
/// The barrier at the end of the region, of a thread other than 0: arrives, and does not wait. The last use of the team.
void arrive_at_end(region& implicit) noexcept;
/// The same of thread 0, which waits.
void wait_at_end(region& implicit) noexcept;

// ---- seats.cpp

/// A region waits at a scheduling point: lends its seat while the object lives, and takes it back.
class seat_loan {
public:
    seat_loan(region& who, bool at_barrier) noexcept;
    ~seat_loan();
    seat_loan(const seat_loan&) = delete;
    seat_loan& operator=(const seat_loan&) = delete;

private:
    region& who_;
    lender entry_;
};

/// A seat for a task that is about to start. Null: the task was put into the list of tasks without one, and starts later.
seat* take_seat(region& task) noexcept;
/// The task that has held the seat has ended. Returns a task to run there instead, which has the seat; or null.
region* give_seat(seat&) noexcept;
/// The implicit task of the seat has ended: the seat is free for all tasks of the team.
void leave_seat(seat&) noexcept;

/// Waits at a scheduling point until `done()`: tasks run meanwhile.
template <class Done>
void wait_for_tasks(region& me, const void* address, Done&& done) {
    if (done()) return;
    const seat_loan lent(me, false);
    wait_until(address, done, patience::none);
}

// ---- parallel.cpp

struct team_request {
    void (*code)(void*);
    void* data;
    unsigned threads;    ///< as in the num_threads clause; 0: there is none
    int bind = 0;        ///< as in the proc_bind clause
    bool serial = false; ///< by the if clause
};

/// The size that a parallel region gets here.
int team_size(const region& here, unsigned wanted) noexcept;
/// Makes a team of this size, whose thread 0 the caller becomes. `share`: the first work-sharing construct, if the region
/// is combined with one. `from`: where the program has called, for a tool. `thread_list`: of the num_threads clause, if it has several values.
/// `outlined`: what the compiler has made of the construct; 0: `code`.
team& begin_parallel(int size, void (*code)(void*), void* data, const share_request* share, int bind,
                     task_group* reduces, const void* from, const std::vector<int>* thread_list = nullptr,
                     trace::code_address outlined = 0);
/// The end of the region; called by thread 0, whose team it is.
void end_parallel(const void* from);

} // namespace weft::openmp
