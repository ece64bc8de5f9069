#include "engine/threads/thread_engine.hpp"

#include <optional>
#include <utility>

#include <sched.h>

/// Workers that are pinned only while they have no work. Such a worker sleeps, wakes and searches on its own core, so that no two
/// meet on one. While it works, its thread may run wherever the thread that has made the engine might. Threads that a task starts
/// inherit that: those of a library would otherwise share the worker's core, and a library that counts its cores
/// would find one.
///
/// Q1: only the thread itself sets its mask, and only if the mask is what it has set before. Otherwise the program, or
///     another one, has set it, and it stays.
namespace weft::engine {

namespace {

bool change_own_mask(const cpu_set_t& from, const cpu_set_t& to) noexcept {
    const auto now = own_mask();
    return now && CPU_EQUAL(&*now, &from) && sched_setaffinity(0, sizeof to, &to) == 0; // Q1
}

} // namespace

std::optional<cpu_set_t> own_mask() noexcept {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return std::nullopt; // it is larger than cpu_set_t
    return mask;
}

void thread_engine::goes_home(thread_worker& w) const noexcept {
    if (!away_from_home || w.kernel != &w.own) return; // an external thread keeps its mask
    if (!w.is_home) w.is_home = change_own_mask(*away_from_home, mask_of(w.core()));
}

void thread_engine::leaves_home(thread_worker& w) const noexcept {
    if (w.kernel != &w.own) return;
    if (std::exchange(w.is_home, false)) change_own_mask(mask_of(w.core()), *away_from_home);
}

} // namespace weft::engine
