#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The internal control variables of OpenMP 5.1 (section 2.4): those of each task, which children inherit, and those of the
/// process, which the environment sets once.
namespace weft::openmp {

enum class schedule_kind : std::uint8_t {
    by_static = 1,
    by_dynamic = 2,
    by_guided = 3,
    by_auto = 4,
    by_trapezoid = 101 ///< of libomp
}; // as omp_sched_t

struct loop_schedule {
    schedule_kind kind = schedule_kind::by_dynamic; ///< libgomp's, where OMP_SCHEDULE is not set
    bool monotonic = false;
    int chunk = 1; ///< 0: none was given

    friend bool operator==(const loop_schedule&, const loop_schedule&) = default;
};

/// As omp_proc_bind_t.
enum class binding : std::uint8_t { off = 0, on = 1, primary = 2, close = 3, spread = 4 };

/// The place of a thread, -1 if it is not bound, and its part of all places: `count` places from `first` on, after the last one the
/// first one. 0: all.
struct placement {
    int place = -1;
    int first = 0;
    int count = 0;
};

struct task_settings {
    int threads = 1; ///< nthreads-var
    int thread_limit = 0x7fff'ffff;
    std::uint8_t max_active_levels = 1;
    bool dynamic = false;
    loop_schedule run_schedule{};
    int default_device = 0;
    std::uintptr_t allocator = 1; ///< omp_default_mem_alloc
    binding bind = binding::off;
    /// A num_threads clause with several values, for the regions inside; the first one is of the teams of level `list_level`. Null: none.
    /// Lists live as long as the process.
    const std::vector<int>* thread_list = nullptr;
    int list_level = 0;
};

struct process_settings {
    task_settings first{};                ///< of the initial tasks
    std::vector<int> threads_of_level{};  ///< OMP_NUM_THREADS with several values
    std::vector<binding> bind_of_level{}; ///< OMP_PROC_BIND likewise
    bool cancellation = false;
    bool displays_affinity = false;
    int max_task_priority = 0;
    int teams = 0; ///< 0: not set
    int teams_thread_limit = 0;
    std::size_t stack_bytes = 0; ///< 0: not set
    enum class waiting : std::uint8_t { passive, active, unset } wait_policy = waiting::unset;
    enum class offloading : std::uint8_t { by_default, disabled, mandatory } offload = offloading::by_default;
    /// WEFT_OPENMP_THREADS: what threads of a team are, but for its first. by_data: tasks of Weft, but kernel threads where they would share
    /// thread-local data (crew.hpp)
    enum class thread_kind : std::uint8_t {
        by_data,
        tasks,
        kernel_threads
    } threads_are = thread_kind::by_data;
    std::string affinity_format = "level %L thread %i affinity %A";
    int processors = 1; ///< omp_get_num_procs()
    // ---- libomp's own
    bool throttles_tasks = true;          ///< KMP_ENABLE_TASK_THROTTLING
    int block_milliseconds = 200;         ///< KMP_BLOCKTIME; 0x7fff'ffff: for ever
    binding teams_bind = binding::spread; ///< KMP_TEAMS_PROC_BIND: of the teams of a league
    bool resets_affinity = false;         ///< KMP_AFFINITY: threads of the program are bound in regions only
    bool displays_settings = false;       ///< KMP_SETTINGS
};

inline constexpr int most_active_levels = 255;

/// Read from the environment when the library is loaded, or, where it speaks as libomp, when the program first needs it; changed by API calls of the program only (omp_set_num_teams,
/// omp_set_affinity_format), which must not overlap with their use.
process_settings& settings() noexcept;

/// Reads the settings anew. `text`: "NAME=VALUE|NAME=VALUE", which go before the environment (kmp_set_defaults()). What that changes
/// for initial tasks is changed for the caller.
void read_settings_again(const char* text, task_settings& of_caller);
/// A value that OpenMP does not allow is reported on standard error, and has no effect.
void refuse(const char* name, const std::string& value, const char* allowed);

/// The table of omp_display_env() and OMP_DISPLAY_ENV, on standard error.
void display_settings(bool verbose);
/// The table of KMP_SETTINGS, likewise.
void display_kmp_settings();
/// Shows those tables that the environment asks for. When libomp would: as soon as the program has come to it.
void show_settings();

} // namespace weft::openmp
