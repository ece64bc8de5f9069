#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

/// The names that gfortran gives to the functions of omp_lib: arguments by reference, a form for integers of 8 bytes, and the lengths of
/// texts, which do not end with a 0 and are filled up with blanks, behind the other arguments.
extern "C" {

int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_get_num_procs();
int omp_in_parallel();
int omp_get_level();
int omp_get_active_level();
int omp_in_final();
int omp_get_num_teams();
int omp_get_team_num();
int omp_get_dynamic();
int omp_get_nested();
int omp_get_max_active_levels();
int omp_get_supported_active_levels();
int omp_get_thread_limit();
int omp_get_cancellation();
int omp_get_max_task_priority();
int omp_get_max_teams();
int omp_get_teams_thread_limit();
int omp_get_proc_bind();
int omp_get_num_places();
int omp_get_place_num();
int omp_get_partition_num_places();
int omp_get_default_device();
int omp_get_num_devices();
int omp_get_device_num();
int omp_get_initial_device();
int omp_is_initial_device();
void omp_set_num_threads(int);
void omp_set_dynamic(int);
void omp_set_nested(int);
void omp_set_max_active_levels(int);
void omp_set_num_teams(int);
void omp_set_teams_thread_limit(int);
void omp_set_default_device(int);
void omp_display_env(int);
int omp_get_ancestor_thread_num(int);
int omp_get_team_size(int);
int omp_get_place_num_procs(int);
void omp_init_lock(void*);
void omp_destroy_lock(void*);
void omp_set_lock(void*);
void omp_unset_lock(void*);
void omp_init_nest_lock(void*);
void omp_destroy_nest_lock(void*);
void omp_set_nest_lock(void*);
void omp_unset_nest_lock(void*);
int omp_test_lock(void*);
int omp_test_nest_lock(void*);
double omp_get_wtime();
double omp_get_wtick();
void omp_set_schedule(unsigned, int);
void omp_get_schedule(unsigned*, int*);
void omp_get_place_proc_ids(int, int*);
void omp_get_partition_place_nums(int*);
int omp_pause_resource(int, int);
int omp_pause_resource_all(int);
void omp_fulfill_event(std::uintptr_t);
std::uintptr_t omp_init_allocator(std::uintptr_t, int, const void*);
void omp_destroy_allocator(std::uintptr_t);
void omp_set_default_allocator(std::uintptr_t);
std::uintptr_t omp_get_default_allocator();
void omp_set_affinity_format(const char*);
std::size_t omp_get_affinity_format(char*, std::size_t);
void omp_display_affinity(const char*);
std::size_t omp_capture_affinity(char*, std::size_t, const char*);
}

namespace {

/// The nearest one.
int as_int(std::int64_t n) noexcept {
    using limits = std::numeric_limits<int>;
    return static_cast<int>(std::clamp<std::int64_t>(n, limits::min(), limits::max()));
}

/// What `write(buffer, size)` writes, as a text of Fortran; the length that it needs.
template <class Write>
std::int32_t give(char* to, std::size_t room, Write write) {
    std::string buffer(room + 1, '\0');
    const std::size_t needed = write(buffer.data(), buffer.size());
    const std::size_t kept = std::min(needed, room);
    std::copy_n(buffer.data(), kept, to);
    std::fill_n(to + kept, room - kept, ' ');
    return static_cast<std::int32_t>(needed);
}

} // namespace

extern "C" {

std::int32_t omp_get_thread_num_() { return omp_get_thread_num(); }
std::int32_t omp_get_num_threads_() { return omp_get_num_threads(); }
std::int32_t omp_get_max_threads_() { return omp_get_max_threads(); }
std::int32_t omp_get_num_procs_() { return omp_get_num_procs(); }
std::int32_t omp_in_parallel_() { return omp_in_parallel(); }
std::int32_t omp_get_level_() { return omp_get_level(); }
std::int32_t omp_get_active_level_() { return omp_get_active_level(); }
std::int32_t omp_in_final_() { return omp_in_final(); }
std::int32_t omp_get_num_teams_() { return omp_get_num_teams(); }
std::int32_t omp_get_team_num_() { return omp_get_team_num(); }
std::int32_t omp_get_dynamic_() { return omp_get_dynamic(); }
std::int32_t omp_get_nested_() { return omp_get_nested(); }
std::int32_t omp_get_max_active_levels_() { return omp_get_max_active_levels(); }
std::int32_t omp_get_supported_active_levels_() { return omp_get_supported_active_levels(); }
std::int32_t omp_get_thread_limit_() { return omp_get_thread_limit(); }
std::int32_t omp_get_cancellation_() { return omp_get_cancellation(); }
std::int32_t omp_get_max_task_priority_() { return omp_get_max_task_priority(); }
std::int32_t omp_get_max_teams_() { return omp_get_max_teams(); }
std::int32_t omp_get_teams_thread_limit_() { return omp_get_teams_thread_limit(); }
std::int32_t omp_get_proc_bind_() { return omp_get_proc_bind(); }
std::int32_t omp_get_num_places_() { return omp_get_num_places(); }
std::int32_t omp_get_place_num_() { return omp_get_place_num(); }
std::int32_t omp_get_partition_num_places_() { return omp_get_partition_num_places(); }
std::int32_t omp_get_default_device_() { return omp_get_default_device(); }
std::int32_t omp_get_num_devices_() { return omp_get_num_devices(); }
std::int32_t omp_get_device_num_() { return omp_get_device_num(); }
std::int32_t omp_get_initial_device_() { return omp_get_initial_device(); }
std::int32_t omp_is_initial_device_() { return omp_is_initial_device(); }

void omp_set_num_threads_(const std::int32_t* n) { omp_set_num_threads(*n); }
void omp_set_num_threads_8_(const std::int64_t* n) { omp_set_num_threads(as_int(*n)); }
void omp_set_dynamic_(const std::int32_t* n) { omp_set_dynamic(*n); }
void omp_set_dynamic_8_(const std::int64_t* n) { omp_set_dynamic(as_int(*n)); }
void omp_set_nested_(const std::int32_t* n) { omp_set_nested(*n); }
void omp_set_nested_8_(const std::int64_t* n) { omp_set_nested(as_int(*n)); }
void omp_set_max_active_levels_(const std::int32_t* n) { omp_set_max_active_levels(*n); }
void omp_set_max_active_levels_8_(const std::int64_t* n) { omp_set_max_active_levels(as_int(*n)); }
void omp_set_num_teams_(const std::int32_t* n) { omp_set_num_teams(*n); }
void omp_set_num_teams_8_(const std::int64_t* n) { omp_set_num_teams(as_int(*n)); }
void omp_set_teams_thread_limit_(const std::int32_t* n) { omp_set_teams_thread_limit(*n); }
void omp_set_teams_thread_limit_8_(const std::int64_t* n) { omp_set_teams_thread_limit(as_int(*n)); }
void omp_set_default_device_(const std::int32_t* n) { omp_set_default_device(*n); }
void omp_set_default_device_8_(const std::int64_t* n) { omp_set_default_device(as_int(*n)); }
void omp_display_env_(const std::int32_t* n) { omp_display_env(*n); }
void omp_display_env_8_(const std::int64_t* n) { omp_display_env(as_int(*n)); }

std::int32_t omp_get_ancestor_thread_num_(const std::int32_t* n) { return omp_get_ancestor_thread_num(*n); }
std::int32_t omp_get_ancestor_thread_num_8_(const std::int64_t* n) {
    return omp_get_ancestor_thread_num(as_int(*n));
}
std::int32_t omp_get_team_size_(const std::int32_t* n) { return omp_get_team_size(*n); }
std::int32_t omp_get_team_size_8_(const std::int64_t* n) { return omp_get_team_size(as_int(*n)); }
std::int32_t omp_get_place_num_procs_(const std::int32_t* n) { return omp_get_place_num_procs(*n); }
std::int32_t omp_get_place_num_procs_8_(const std::int64_t* n) { return omp_get_place_num_procs(as_int(*n)); }

// A lock of Fortran is one of C.
void omp_init_lock_(void* l) { omp_init_lock(l); }
void omp_destroy_lock_(void* l) { omp_destroy_lock(l); }
void omp_set_lock_(void* l) { omp_set_lock(l); }
void omp_unset_lock_(void* l) { omp_unset_lock(l); }
std::int32_t omp_test_lock_(void* l) { return omp_test_lock(l); }

void omp_init_nest_lock_(void* l) { omp_init_nest_lock(l); }
void omp_destroy_nest_lock_(void* l) { omp_destroy_nest_lock(l); }
void omp_set_nest_lock_(void* l) { omp_set_nest_lock(l); }
void omp_unset_nest_lock_(void* l) { omp_unset_nest_lock(l); }
std::int32_t omp_test_nest_lock_(void* l) { return omp_test_nest_lock(l); }

double omp_get_wtime_() { return omp_get_wtime(); }
double omp_get_wtick_() { return omp_get_wtick(); }
void omp_set_schedule_(const std::int32_t* kind, const std::int32_t* chunk) {
    omp_set_schedule(static_cast<unsigned>(*kind), *chunk);
}
void omp_set_schedule_8_(const std::int32_t* kind, const std::int64_t* chunk) {
    omp_set_schedule(static_cast<unsigned>(*kind), as_int(*chunk));
}
void omp_get_schedule_(std::int32_t* kind, std::int32_t* chunk) {
    unsigned k = 0;
    omp_get_schedule(&k, chunk);
    *kind = static_cast<std::int32_t>(k);
}
void omp_get_schedule_8_(std::int32_t* kind, std::int64_t* chunk) {
    std::int32_t c = 0;
    omp_get_schedule_(kind, &c);
    *chunk = c;
}
void omp_get_place_proc_ids_(const std::int32_t* n, std::int32_t* ids) { omp_get_place_proc_ids(*n, ids); }
void omp_get_place_proc_ids_8_(const std::int64_t* n, std::int64_t* ids) {
    const int count = omp_get_place_num_procs(as_int(*n));
    auto* const few = reinterpret_cast<int*>(ids);
    omp_get_place_proc_ids(as_int(*n), few);
    for (int i = count; i-- > 0;) ids[i] = few[i];
}
void omp_get_partition_place_nums_(std::int32_t* numbers) { omp_get_partition_place_nums(numbers); }
void omp_get_partition_place_nums_8_(std::int64_t* numbers) {
    auto* const few = reinterpret_cast<int*>(numbers);
    omp_get_partition_place_nums(few);
    for (int i = omp_get_partition_num_places(); i-- > 0;) numbers[i] = few[i];
}
std::int32_t omp_pause_resource_(const std::int32_t* kind, const std::int32_t* device) {
    return omp_pause_resource(*kind, *device);
}
std::int32_t omp_pause_resource_all_(const std::int32_t* kind) { return omp_pause_resource_all(*kind); }
void omp_fulfill_event_(std::intptr_t event) { omp_fulfill_event(static_cast<std::uintptr_t>(event)); }
std::intptr_t omp_init_allocator_(const std::intptr_t* space, const std::int32_t* count, const void* traits) {
    return static_cast<std::intptr_t>(
        omp_init_allocator(static_cast<std::uintptr_t>(*space), *count, traits));
}
std::intptr_t omp_init_allocator_8_(const std::intptr_t* space, const std::int64_t* count,
                                    const void* traits) {
    return static_cast<std::intptr_t>(
        omp_init_allocator(static_cast<std::uintptr_t>(*space), as_int(*count), traits));
}
void omp_destroy_allocator_(const std::intptr_t* a) {
    omp_destroy_allocator(static_cast<std::uintptr_t>(*a));
}
void omp_set_default_allocator_(const std::intptr_t* a) {
    omp_set_default_allocator(static_cast<std::uintptr_t>(*a));
}
std::intptr_t omp_get_default_allocator_() { return static_cast<std::intptr_t>(omp_get_default_allocator()); }

void omp_set_affinity_format_(const char* format, std::size_t length) {
    omp_set_affinity_format(std::string(format, length).c_str());
}
std::int32_t omp_get_affinity_format_(char* to, std::size_t room) {
    return give(to, room,
                [](char* buffer, std::size_t size) { return omp_get_affinity_format(buffer, size); });
}
void omp_display_affinity_(const char* format, std::size_t length) {
    omp_display_affinity(std::string(format, length).c_str());
}
std::int32_t omp_capture_affinity_(char* to, const char* format, std::size_t room, std::size_t length) {
    const std::string described(format, length);
    return give(to, room, [&](char* buffer, std::size_t size) {
        return omp_capture_affinity(buffer, size, described.c_str());
    });
}

} // extern "C"
