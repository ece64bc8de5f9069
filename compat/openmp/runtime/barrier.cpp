#include "runtime/team.hpp"

#include <optional>

namespace weft::openmp {

namespace {

/// The last one has arrived, and no task is left (M1).
void end_barrier(team& t, std::uint64_t w) noexcept {
    const std::uint64_t next = (std::uint64_t{team::phase(w)} + 1) << 32 | static_cast<std::uint32_t>(t.size);
    const void* const address = &t.word;
    t.word.store(next, std::memory_order_release); // pairs with the loads of those who wait; the last use of the team (M2)
    wake_all(address);
}

/// Whether it helps to look for a while before sleeping: every thread of the team can have a processor.
patience patience_in(const team& t) noexcept {
    return t.size <= settings().processors ? patience::some : patience::none;
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

void team::count_down() noexcept {
    // release: what came before, for those who pass the barrier; acquire: the same of the others, for the one who ends it
    const std::uint64_t w = word.fetch_sub(1, std::memory_order_acq_rel);
    if (open(w) == 1) end_barrier(*this, w);
}

bool pass_barrier(region& me, bool cancellable) {
    team& t = *me.in;
    if (cancellable && t.is_cancelled.load(std::memory_order_relaxed)) return true;
    const std::uint64_t before = t.word.fetch_sub(1, std::memory_order_acq_rel); // as in count_down()
    if (team::open(before) == 1) {
        end_barrier(t, before);
        return false;
    }
    const std::uint32_t phase = team::phase(before);
    const auto has_passed = [&] {
        return team::phase(t.word.load(std::memory_order_acquire)) != phase; // pairs with the store in end_barrier()
    };
    const auto may_go = [&] {
        return has_passed() || (cancellable && t.is_cancelled.load(std::memory_order_relaxed));
    };
    // As long as only threads are missing there is nothing to lend the seat for.
    const bool only_threads = team::open(before) <= static_cast<std::uint32_t>(t.size);
    if (only_threads && patience_in(t) == patience::some && looks_true(may_go) && has_passed()) return false;
    {
        const seat_loan lent(me, true);
        wait_until(&t.word, may_go, patience::none);
        if (has_passed() || !take_arrival_back(t, phase)) {
            wait_until(&t.word, has_passed, patience::none);
            return false;
        }
    }
    return true;
}

void arrive_at_end(region& implicit) noexcept {
    team& t = *implicit.in;
    leave_seat(*implicit.on);
    t.count_down();
}

void wait_at_end(region& implicit) noexcept { static_cast<void>(pass_barrier(implicit, false)); }

} // namespace weft::openmp
