#include "runtime/affinity.hpp"
#include "runtime/settings.hpp"
#include "runtime/team.hpp"

#include <weft/impl/hot.hpp>

#include <algorithm>

#include <sched.h>

/// Threads of the program that begin parallel regions, and where the kernel may run them.
namespace weft::openmp {

namespace {

struct bound_thread {
    int place;
    bool has_before;
    cpu_set_t before; ///< when it was bound
};
[[gnu::tls_model("initial-exec")]] thread_local constinit bound_thread mine{-1, false, {}};

} // namespace

void bind_thread(const team& t) noexcept {
    const int place = t.seats[0].place.place;
    if (place < 0 || place == mine.place || weft::impl::hot_self()) return;
    if (!mine.has_before) mine.has_before = sched_getaffinity(0, sizeof mine.before, &mine.before) == 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : places()[static_cast<std::size_t>(place)])
        CPU_SET(static_cast<std::size_t>(cpu), &set);
    // The kernel may refuse, if processors were taken from the process meanwhile; the thread runs in any case.
    if (sched_setaffinity(0, sizeof set, &set) == 0) mine.place = place;
}

void release_thread() noexcept {
    if (!settings().resets_affinity || mine.place < 0 || weft::impl::hot_self()) return;
    if (mine.has_before) static_cast<void>(sched_setaffinity(0, sizeof mine.before, &mine.before));
    mine.place = -1;
    mine.has_before = false;
}

} // namespace weft::openmp
