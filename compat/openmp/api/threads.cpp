#include "runtime/launch.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <algorithm>

/// omp_*: what a thread is, and the settings that it may read and change.
using namespace weft::openmp;

namespace {

region& me() noexcept { return current_region(); }

/// The team at that level around the caller, or null.
const team* team_at(int level) noexcept {
    const team* t = me().in;
    if (level < 0 || level > t->level) return nullptr;
    while (t->level > level) t = t->outer;
    return t;
}

/// The seat of the caller in that team: of the region with the construct of the team inside.
const seat* seat_at(int level) noexcept {
    const region* r = &me();
    if (level < 0 || level > r->in->level) return nullptr;
    while (r->in->level > level) r = r->in->around;
    return r->on;
}

constexpr unsigned monotonic = 0x8000'0000U;

} // namespace

extern "C" {

int omp_get_thread_num() { return me().on->number; }
int omp_get_num_threads() { return me().in->size; }
int omp_get_max_threads() { return me().icv.threads; }
int omp_get_num_procs() { return settings().processors; }
int omp_in_parallel() { return me().in->active_level > 0; }
int omp_get_level() { return me().in->level; }
int omp_get_active_level() { return me().in->active_level; }
int omp_get_ancestor_thread_num(int level) {
    const seat* const s = seat_at(level);
    return s ? s->number : -1;
}
int omp_get_team_size(int level) {
    const team* const t = team_at(level);
    return t ? t->size : -1;
}
int omp_in_final() { return me().is_final; }
int omp_get_num_teams() { return me().in->league_size; }
int omp_get_team_num() { return me().in->league_rank; }
void omp_fulfill_event(std::uintptr_t event) { fulfill(reinterpret_cast<void*>(event)); }

void omp_set_num_threads(int n) { me().icv.threads = std::max(n, 1); }
void omp_set_dynamic(int is_so) { me().icv.dynamic = is_so != 0; }
int omp_get_dynamic() { return me().icv.dynamic; }
void omp_set_nested(int is_so) {
    task_settings& icv = me().icv;
    if (is_so)
        icv.max_active_levels = most_active_levels;
    else
        icv.max_active_levels = std::min<std::uint8_t>(icv.max_active_levels, 1);
}
int omp_get_nested() {
    const region& r = me();
    return r.icv.max_active_levels > 1 && r.icv.max_active_levels > r.in->active_level;
}
void omp_set_max_active_levels(int n) {
    if (n >= 0) me().icv.max_active_levels = static_cast<std::uint8_t>(std::min(n, most_active_levels));
}
int omp_get_max_active_levels() { return me().icv.max_active_levels; }
int omp_get_supported_active_levels() { return most_active_levels; }
int omp_get_thread_limit() { return me().icv.thread_limit; }

void omp_set_schedule(unsigned kind, int chunk) {
    loop_schedule& s = me().icv.run_schedule;
    const unsigned plain = kind & ~monotonic;
    if ((plain < 1 || plain > 4) && kind != static_cast<unsigned>(schedule_kind::by_trapezoid)) return;
    s.kind = static_cast<schedule_kind>(plain);
    s.monotonic = (kind & monotonic) != 0;
    // Without a chunk a static schedule has blocks, and the others have chunks of 1.
    if (s.kind == schedule_kind::by_static)
        s.chunk = std::max(chunk, 0);
    else if (s.kind != schedule_kind::by_auto)
        s.chunk = std::max(chunk, 1);
}
void omp_get_schedule(unsigned* kind, int* chunk) {
    const loop_schedule& s = me().icv.run_schedule;
    *kind = static_cast<unsigned>(s.kind) | (s.monotonic ? monotonic : 0);
    *chunk = s.chunk;
}

int omp_get_cancellation() { return settings().cancellation; }
int omp_get_max_task_priority() { return settings().max_task_priority; }
void omp_set_num_teams(int n) {
    if (n >= 0) settings().teams = n;
}
int omp_get_max_teams() { return settings().teams; }
void omp_set_teams_thread_limit(int n) {
    if (n >= 0) settings().teams_thread_limit = n;
}
int omp_get_teams_thread_limit() { return settings().teams_thread_limit; }
void omp_display_env(int verbose) { display_settings(verbose != 0); }

int omp_pause_resource(int kind, int) { return kind == 1 || kind == 2 ? 0 : -1; }
int omp_pause_resource_all(int kind) { return kind == 1 || kind == 2 ? 0 : -1; }

} // extern "C"
