#include "runtime/team.hpp"

#include <optional>

namespace weft::openmp {

namespace {

/// The last one has arrived, and no task is left (M1).
void end_barrier(team& t, std::uint64_t w) noexcept {
    const std::uint64_t next = (std::uint64_t{team::phase(w)} + 1) << 32 | static_cast<std::uint32_t>(t.size);
    const void* const address = &t.word;
    t.is_share_cancelled.store(false, std::memory_order_relaxed); // before the next line
    t.word.store(
        next,
        std::
            memory_order_release); // pairs with the loads of the waiting threads; the last use of the team (M3)
    wake_all(address);
}

/// Whether it helps to look for a while before sleeping: every thread of the team can have a processor.
patience patience_in(const team& t) noexcept {
    return t.size <= settings().processors ? patience::some : patience::none;
}

bool has_passed(const team& t, std::uint32_t phase) noexcept {
    return team::phase(t.word.load(std::memory_order_acquire)) !=
           phase; // pairs with the store in end_barrier()
}

/// As long as only threads are missing there is nothing to lend a seat for.
template <class Done>
bool looks_while_threads_are_missing(const team& t, std::uint64_t word, Done&& done) {
    return team::open(word) <= static_cast<std::uint32_t>(t.size) && patience_in(t) == patience::some &&
           looks_true(done);
}

/// Takes back the arrival of the caller; false if the barrier has ended meanwhile.
bool take_arrival_back(team& t, std::uint32_t phase) noexcept {
    std::uint64_t w = t.word.load(std::memory_order_relaxed);
    // A word of 0 open ones belongs to the thread that ends the barrier (M1). relaxed: only the number counts
    while (team::phase(w) == phase && team::open(w) > 0)
        if (t.word.compare_exchange_weak(w, w + 1, std::memory_order_relaxed)) return true;
    return false;
}

} // namespace

void team::count_down(std::uint32_t n) noexcept {
    // release: what came before, for the threads that pass the barrier; acquire: the same of the others, for the one that ends it
    const std::uint64_t w = word.fetch_sub(n, std::memory_order_acq_rel);
    if (open(w) == n) end_barrier(*this, w);
}

bool pass_barrier(region& me, bool cancellable, tool::sync kind, const void* from) {
    team& t = *me.in;
    if (cancellable && t.is_cancelled.load(std::memory_order_relaxed)) return true;
    if (tool::is_on()) [[unlikely]]
        tool::work_ends(me, from);
    const tool::sync_scope seen(me, kind, from);
    const std::uint64_t before = t.word.fetch_sub(1, std::memory_order_acq_rel); // as in count_down()
    if (team::open(before) == 1) {
        end_barrier(t, before);
        return false;
    }
    const std::uint32_t phase = team::phase(before);
    const auto may_go = [&] {
        return has_passed(t, phase) || (cancellable && t.is_cancelled.load(std::memory_order_relaxed));
    };
    if (looks_while_threads_are_missing(t, before, may_go) && has_passed(t, phase)) return false;
    const seat_loan lent(me, true);
    wait_until(&t.word, may_go, patience::none);
    if (has_passed(t, phase)) return false;
    if (take_arrival_back(t, phase)) return true;
    wait_until(&t.word, [&] { return has_passed(t, phase); }, patience::none);
    return false;
}

void arrive_at_end(region& implicit) noexcept {
    team& t = *implicit.in;
    leave_seat(*implicit.on);
    // acq_rel: what this thread has done, for the last one, which ends the region for all
    if (t.left.fetch_sub(1, std::memory_order_acq_rel) == 1) t.count_down(static_cast<std::uint32_t>(t.size));
}

void wait_at_end(region& implicit) noexcept {
    team& t = *implicit.in;
    const std::uint64_t before =
        t.word.load(std::memory_order_relaxed); // no barrier ends before this thread arrives
    const std::uint32_t phase = team::phase(before);
    if (t.left.fetch_sub(1, std::memory_order_acq_rel) == 1)
        t.count_down(static_cast<std::uint32_t>(t.size)); // as above
    const auto is_over = [&] { return has_passed(t, phase); };
    if (is_over() || looks_while_threads_are_missing(t, before, is_over)) return;
    const seat_loan lent(implicit, true);
    wait_until(&t.word, is_over, patience::none);
}

} // namespace weft::openmp
