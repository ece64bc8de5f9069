#pragma once

#include <cstdint>

/// OMPT: what a tool and an OpenMP library have agreed on (OpenMP 5.1, chapter 19). Names are those of the standard without `ompt_`, numbers are
/// the standard's. Tools include <omp-tools.h>, which compilers bring; tests/openmp/tools is compiled with that one.
namespace weft::openmp::tool {

union data {
    std::uint64_t value;
    void* ptr;
};

/// Where the stack of a task is. Weft fills in nothing: null, and no flags.
struct frame {
    data exit;
    data enter;
    int exit_flags;
    int enter_flags;
};

enum class event : unsigned {
    thread_begin = 1,
    thread_end = 2,
    parallel_begin = 3,
    parallel_end = 4,
    task_create = 5,
    task_schedule = 6,
    implicit_task = 7,
    control_tool = 11,
    sync_region_wait = 16,
    mutex_released = 17,
    dependences = 18,
    work = 20,
    masked = 21,
    sync_region = 23,
    lock_init = 24,
    lock_destroy = 25,
    mutex_acquire = 26,
    mutex_acquired = 27,
    nest_lock = 28,
    reduction = 31,
};
inline constexpr unsigned last_event = 37;

enum class set_result : int { error = 0, never = 1, sometimes = 3, always = 5 };
enum class endpoint : int { begin = 1, end = 2, both = 3 };
enum class thread_type : int { initial = 1, worker = 2 };
enum class sync : int {
    barrier_explicit = 3,
    taskwait = 5,
    taskgroup = 6,
    reduction = 7,
    barrier_workshare = 8,
    barrier_parallel = 9
};
enum class work : int {
    none = 0, ///< Weft's own: the thread is in no construct
    loop = 1,
    sections = 2,
    single_executor = 3,
    single_other = 4
};
enum class mutex : int {
    lock = 1,
    test_lock = 2,
    nest_lock = 3,
    test_nest_lock = 4,
    critical = 5,
    atomic = 6
};
enum class task_status : int { complete = 1, cancel = 3, detach = 4, late_fulfill = 6, switched = 7 };
enum class state : int {
    work_serial = 0x000,
    work_parallel = 0x001,
    wait_barrier_parallel = 0x011,
    wait_barrier_workshare = 0x012,
    wait_barrier_explicit = 0x014,
    wait_taskwait = 0x020,
    wait_taskgroup = 0x021,
    undefined = 0x102
};

inline constexpr int task_initial = 0x1, task_implicit = 0x2, task_explicit = 0x4,
                     task_undeferred = 0x0800'0000, task_final = 0x2000'0000;
inline constexpr int invoked_by_program = 0x1, invoked_by_library = 0x2,
                     parallel_team = static_cast<int>(0x8000'0000U);

struct dependence_entry {
    data variable;
    int kind;
};

using callback = void (*)();
using lookup_function = callback (*)(const char*);
/// What ompt_start_tool() returns.
struct start_result {
    int (*initialize)(lookup_function, int initial_device, data* of_tool);
    void (*finalize)(data* of_tool);
    data of_tool;
};

} // namespace weft::openmp::tool
