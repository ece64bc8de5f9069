#include "runtime/locks.hpp"
#include "runtime/team.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>

/// omp_*_lock, and the clock.
using namespace weft::openmp;

namespace {

/// What an omp_nest_lock_t points to: that type has 16 bytes with gcc and 8 with clang. The owner is a task region (OpenMP 5.1, 3.9).
struct nest_lock {
    lock_word lock{0};
    int count = 0;                             ///< of its owner; guarded by the lock
    std::atomic<const region*> owner{nullptr}; ///< relaxed: only the owner itself finds itself there
};

lock_word& plain(void* l) noexcept { return *static_cast<lock_word*>(l); }
nest_lock& nested(void* l) noexcept { return **static_cast<nest_lock**>(l); }

/// Begins or repeats the ownership; true if the caller has the lock already.
bool holds_again(nest_lock& l) noexcept {
    if (l.owner.load(std::memory_order_relaxed) != &current_region()) return false;
    ++l.count;
    return true;
}
void own(nest_lock& l) noexcept {
    l.owner.store(&current_region(), std::memory_order_relaxed);
    l.count = 1;
}

void show(tool::event e, tool::mutex kind, const void* l, const void* from) noexcept {
    if (tool::is_on()) [[unlikely]]
        tool::mutex_event(e, kind, l, from);
}
/// The owner takes or gives a nested lock once more.
void show_again(tool::endpoint at, const nest_lock& l, const void* from) noexcept {
    if (tool::is_on()) [[unlikely]]
        tool::nest_lock_again(at, &l.lock, from);
}

double seconds(const timespec& t) noexcept {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

} // namespace

extern "C" {

void omp_init_lock(void* l) {
    plain(l).store(0, std::memory_order_relaxed); // no other thread uses it yet
    show(tool::event::lock_init, tool::mutex::lock, l, WEFT_CALLER);
}
void omp_init_lock_with_hint(void* l, int) { omp_init_lock(l); }
void omp_destroy_lock(void* l) { show(tool::event::lock_destroy, tool::mutex::lock, l, WEFT_CALLER); }
void omp_set_lock(void* l) { acquire_as(tool::mutex::lock, plain(l), WEFT_CALLER); }
void omp_unset_lock(void* l) { release_as(tool::mutex::lock, plain(l), WEFT_CALLER); }
int omp_test_lock(void* l) { return try_acquire_as(tool::mutex::test_lock, plain(l), WEFT_CALLER); }

void omp_init_nest_lock(void* at) {
    auto* const l = new nest_lock;
    *static_cast<nest_lock**>(at) = l;
    show(tool::event::lock_init, tool::mutex::nest_lock, &l->lock, WEFT_CALLER);
}
void omp_init_nest_lock_with_hint(void* l, int) { omp_init_nest_lock(l); }
void omp_destroy_nest_lock(void* at) {
    show(tool::event::lock_destroy, tool::mutex::nest_lock, &nested(at).lock, WEFT_CALLER);
    delete *static_cast<nest_lock**>(at);
}
void omp_set_nest_lock(void* at) {
    nest_lock& l = nested(at);
    if (holds_again(l)) return show_again(tool::endpoint::begin, l, WEFT_CALLER);
    acquire_as(tool::mutex::nest_lock, l.lock, WEFT_CALLER);
    own(l);
}
void omp_unset_nest_lock(void* at) {
    nest_lock& l = nested(at);
    if (--l.count > 0) return show_again(tool::endpoint::end, l, WEFT_CALLER);
    l.owner.store(nullptr, std::memory_order_relaxed);
    release_as(tool::mutex::nest_lock, l.lock, WEFT_CALLER);
}
int omp_test_nest_lock(void* at) {
    nest_lock& l = nested(at);
    if (holds_again(l)) {
        show_again(tool::endpoint::begin, l, WEFT_CALLER);
        return l.count;
    }
    if (!try_acquire_as(tool::mutex::test_nest_lock, l.lock, WEFT_CALLER)) return 0;
    own(l);
    return 1;
}

double omp_get_wtime() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return seconds(t);
}
double omp_get_wtick() {
    timespec t{};
    clock_getres(CLOCK_MONOTONIC, &t);
    return seconds(t);
}

} // extern "C"
