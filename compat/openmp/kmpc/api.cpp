#include "kmpc/kmpc.hpp"
#include "runtime/affinity.hpp"
#include "runtime/settings.hpp"
#include "runtime/team.hpp"
#include "runtime/wait.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <sched.h>

/// kmp_*, and those of omp_* that clang's header has and gcc's has not.
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace {

constexpr int library_throughput = 3;
std::atomic<int> library{library_throughput};

constexpr std::size_t default_stack = std::size_t{4} << 20;

cpu_set_t& set_of(void** mask) noexcept { return *static_cast<cpu_set_t*>(*mask); }
bool is_processor(int n) noexcept { return n >= 0 && n < CPU_SETSIZE; }

} // namespace

extern "C" {

int omp_get_ancestor_thread_num(int);
int omp_get_team_size(int);
void omp_set_num_threads(int);
void omp_set_dynamic(int);
void omp_set_nested(int);
void omp_set_max_active_levels(int);
void omp_set_schedule(unsigned, int);
void omp_set_affinity_format(const char*);
std::size_t omp_get_affinity_format(char*, std::size_t);
void omp_display_affinity(const char*);
std::size_t omp_capture_affinity(char*, std::size_t, const char*);
int omp_pause_resource_all(int);

// ---- C's conventions for Fortran
int ompc_get_ancestor_thread_num(int n) { return omp_get_ancestor_thread_num(n); }
int ompc_get_team_size(int n) { return omp_get_team_size(n); }
void ompc_set_num_threads(int n) { omp_set_num_threads(n); }
void ompc_set_dynamic(int n) { omp_set_dynamic(n); }
void ompc_set_nested(int n) { omp_set_nested(n); }
void ompc_set_max_active_levels(int n) { omp_set_max_active_levels(n); }
void ompc_set_schedule(unsigned kind, int chunk) { omp_set_schedule(kind, chunk); }
void ompc_set_affinity_format(const char* format) { omp_set_affinity_format(format); }
std::size_t ompc_get_affinity_format(char* to, std::size_t room) { return omp_get_affinity_format(to, room); }
void ompc_display_affinity(const char* format) { omp_display_affinity(format); }
std::size_t ompc_capture_affinity(char* to, std::size_t room, const char* format) {
    return omp_capture_affinity(to, room, format);
}

// ---- newer than gcc 12
int omp_in_explicit_task() { return !current_region().is_implicit; }
int omp_in_explicit_task_() { return omp_in_explicit_task(); }
/// There is no tool.
int omp_control_tool(int command, int modifier, void* argument) {
    return weft::openmp::tool::control(static_cast<std::uint64_t>(command),
                                       static_cast<std::uint64_t>(modifier), argument, WEFT_CALLER);
}
int omp_control_tool_(const int* command, const int* modifier, void* argument) {
    return weft::openmp::tool::control(static_cast<std::uint64_t>(*command),
                                       static_cast<std::uint64_t>(*modifier), argument, WEFT_CALLER);
}

// ---- interop: there are no foreign runtimes, so no object has properties
constexpr int interop_empty = -1;
int omp_get_num_interop_properties(const void*) { return 0; }
std::intptr_t omp_get_interop_int(const void*, int, int* outcome) {
    if (outcome) *outcome = interop_empty;
    return 0;
}
void* omp_get_interop_ptr(const void*, int, int* outcome) {
    if (outcome) *outcome = interop_empty;
    return nullptr;
}
const char* omp_get_interop_str(const void*, int, int* outcome) {
    if (outcome) *outcome = interop_empty;
    return nullptr;
}
const char* omp_get_interop_name(const void*, int) { return nullptr; }
const char* omp_get_interop_type_desc(const void*, int) { return nullptr; }
const char* omp_get_interop_rc_desc(const void*, int) { return nullptr; }

// ---- settings
/// As libomp: 200 ms. Here it is the value that the program reads, and, if it is 0, the end of looking before sleeping.
int kmp_get_blocktime() { return settings().block_milliseconds; }
void kmp_set_blocktime(int milliseconds) {
    settings().block_milliseconds = std::max(milliseconds, 0);
    if (milliseconds <= 0) set_patience(std::chrono::nanoseconds(0));
}
int kmp_get_library() { return library.load(std::memory_order_relaxed); }
void kmp_set_library(int n) {
    if (n >= 1 && n <= library_throughput) library.store(n, std::memory_order_relaxed);
}
void kmp_set_library_serial() { kmp_set_library(1); }
void kmp_set_library_turnaround() { kmp_set_library(2); }
void kmp_set_library_throughput() { kmp_set_library(library_throughput); }
/// Stacks are made by Weft when it starts (WEFT_STACK): a later value is only remembered.
std::size_t kmp_get_stacksize_s() { return settings().stack_bytes ? settings().stack_bytes : default_stack; }
void kmp_set_stacksize_s(std::size_t n) { settings().stack_bytes = n; }
int kmp_get_stacksize() {
    return static_cast<int>(std::min<std::size_t>(kmp_get_stacksize_s(), 0x7fff'ffff));
}
void kmp_set_stacksize(int n) { kmp_set_stacksize_s(static_cast<std::size_t>(std::max(n, 0))); }
/// "NAME=VALUE|NAME=VALUE": variables of the environment, which libomp may not have read yet.
void kmp_set_defaults(const char* text) { read_settings_again(text, current_region().icv); }
void kmp_set_disp_num_buffers(int) {}
void kmp_set_warnings_on() {}
void kmp_set_warnings_off() {}
int kmp_get_cancellation_status(int) { return settings().cancellation; }
int kmp_get_num_known_threads() { return worker_count() + 1; }
int __kmpc_get_target_offload() {
    using kind = process_settings::offloading;
    switch (settings().offload) {
    case kind::disabled: return 0;
    case kind::by_default: break;
    case kind::mandatory: return 2;
    }
    return 1;
}
int __kmpc_pause_resource(int kind) { return omp_pause_resource_all(kind); }

// ---- affinity masks
void kmp_create_affinity_mask(void** mask) {
    auto* const set = new cpu_set_t;
    CPU_ZERO(set);
    *mask = set;
}
void kmp_destroy_affinity_mask(void** mask) {
    delete static_cast<cpu_set_t*>(*mask);
    *mask = nullptr;
}
int kmp_get_affinity_max_proc() { return CPU_SETSIZE; }
int kmp_set_affinity_mask_proc(int n, void** mask) {
    if (!is_processor(n)) return -1;
    CPU_SET(n, &set_of(mask));
    return 0;
}
int kmp_unset_affinity_mask_proc(int n, void** mask) {
    if (!is_processor(n)) return -1;
    CPU_CLR(n, &set_of(mask));
    return 0;
}
int kmp_get_affinity_mask_proc(int n, void** mask) { return is_processor(n) && CPU_ISSET(n, &set_of(mask)); }
int kmp_get_affinity(void** mask) { return sched_getaffinity(0, sizeof(cpu_set_t), &set_of(mask)); }
/// Workers are pinned by Weft alone (WEFT_PIN); a thread of the program may pin itself.
int kmp_set_affinity(void** mask) {
    if (weft::impl::hot_self()) return -1;
    return sched_setaffinity(0, sizeof(cpu_set_t), &set_of(mask));
}
void kmp_set_thread_affinity_mask_initial() {}

// ---- Fortran: arguments by reference
int kmp_get_blocktime_() { return kmp_get_blocktime(); }
void kmp_set_blocktime_(const int* n) { kmp_set_blocktime(*n); }
int kmp_get_library_() { return kmp_get_library(); }
void kmp_set_library_(const int* n) { kmp_set_library(*n); }
void kmp_set_library_serial_() { kmp_set_library_serial(); }
void kmp_set_library_turnaround_() { kmp_set_library_turnaround(); }
void kmp_set_library_throughput_() { kmp_set_library_throughput(); }
int kmp_get_stacksize_() { return kmp_get_stacksize(); }
void kmp_set_stacksize_(const int* n) { kmp_set_stacksize(*n); }
std::size_t kmp_get_stacksize_s_() { return kmp_get_stacksize_s(); }
void kmp_set_stacksize_s_(const std::size_t* n) { kmp_set_stacksize_s(*n); }
void kmp_set_defaults_(const char* text) { kmp_set_defaults(text); }
void kmp_set_disp_num_buffers_(const int* n) { kmp_set_disp_num_buffers(*n); }
void kmp_set_warnings_on_() {}
void kmp_set_warnings_off_() {}
int kmp_get_cancellation_status_(const int* kind) { return kmp_get_cancellation_status(*kind); }
int kmp_get_num_known_threads_() { return kmp_get_num_known_threads(); }
void kmp_create_affinity_mask_(void** mask) { kmp_create_affinity_mask(mask); }
void kmp_destroy_affinity_mask_(void** mask) { kmp_destroy_affinity_mask(mask); }
int kmp_get_affinity_max_proc_() { return kmp_get_affinity_max_proc(); }
int kmp_get_affinity_(void** mask) { return kmp_get_affinity(mask); }
int kmp_set_affinity_(void** mask) { return kmp_set_affinity(mask); }
int kmp_set_affinity_mask_proc_(const int* n, void** mask) { return kmp_set_affinity_mask_proc(*n, mask); }
int kmp_unset_affinity_mask_proc_(const int* n, void** mask) {
    return kmp_unset_affinity_mask_proc(*n, mask);
}
int kmp_get_affinity_mask_proc_(const int* n, void** mask) { return kmp_get_affinity_mask_proc(*n, mask); }
void kmpc_set_blocktime(int n) { kmp_set_blocktime(n); }
void kmpc_set_library(int n) { kmp_set_library(n); }
void kmpc_set_stacksize(int n) { kmp_set_stacksize(n); }
void kmpc_set_stacksize_s(std::size_t n) { kmp_set_stacksize_s(n); }
void kmpc_set_defaults(const char* text) { kmp_set_defaults(text); }
void kmpc_set_disp_num_buffers(int n) { kmp_set_disp_num_buffers(n); }
int kmpc_set_affinity_mask_proc(int n, void** mask) { return kmp_set_affinity_mask_proc(n, mask); }
int kmpc_unset_affinity_mask_proc(int n, void** mask) { return kmp_unset_affinity_mask_proc(n, mask); }
int kmpc_get_affinity_mask_proc(int n, void** mask) { return kmp_get_affinity_mask_proc(n, mask); }

} // extern "C"
