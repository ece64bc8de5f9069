#include "runtime/sanitizer.hpp"
#include "runtime/team.hpp"

#include "engine/worker/worker.hpp"
#include "queue/sync.hpp"

#include <mutex>

/// Which region holds a seat. A task that finds no seat waits in the team's list:
///
///   task: scans the seats; puts itself into the list and counts itself (`seatless`); fence; scans again
///   seat: is made free under its lock; fence; looks at `seatless`
///
/// One of the two sees the other (Dekker's pattern), so no task stays in the list while a seat for it is free.
namespace weft::openmp {

namespace {

/// Under the lock of the seat (E2, E3).
bool is_for(const seat& s, const region& task) noexcept {
    if (s.is_taken.load(std::memory_order_relaxed) || s.wanted > 0) return false;
    for (const lender* l = s.lenders; l; l = l->next)
        if (!l->at_barrier && !descends_from(&task, l->who)) return false;
    return true;
}

bool try_take(seat& s, const region& task) noexcept {
    if (s.is_taken.load(std::memory_order_relaxed))
        return false; // a hint; the caller's fence orders its last look
    const std::lock_guard guard(s.lock);
    if (!is_for(s, task)) return false;
    s.is_taken.store(true, std::memory_order_relaxed);
    happens_after(&s);
    return true;
}

/// The number at which a search begins, so that workers use different seats. The caller is on a worker.
int first_choice(const team& t) noexcept {
    const weft::impl::tick_hold here;
    return (weft::impl::hot_self()->id + 1) % t.size;
}

seat* find_seat(const region& task) noexcept {
    const team& t = *task.in;
    const int first = first_choice(t);
    for (int i = 0; i < t.size; ++i) {
        seat& s = t.seats[static_cast<std::size_t>((first + i) % t.size)];
        if (try_take(s, task)) return &s;
    }
    return nullptr;
}

/// Under the team's lock. False if the task is not in the list any more.
bool remove(team& t, region& task) noexcept {
    region* before = nullptr;
    for (region* r = t.first_seatless; r; before = r, r = r->next) {
        if (r != &task) continue;
        (before ? before->next : t.first_seatless) = r->next;
        if (t.last_seatless == r) t.last_seatless = before;
        t.seatless.store(t.seatless.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return true;
    }
    return false;
}

/// Under the team's lock.
void put(team& t, region& task) noexcept {
    task.next = nullptr;
    (t.first_seatless ? t.last_seatless->next : t.first_seatless) = &task;
    t.last_seatless = &task;
    t.seatless.store(t.seatless.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// The seat was made free: takes a task for it out of the list, and takes the seat for that task.
region* next_for(seat& s) noexcept {
    team& t = *s.of;
    queue::std_sync::fence(
        std::memory_order_seq_cst); // after the seat was made free: pairs with that in take_seat()
    if (t.seatless.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard guard(t.lock);
    for (region* r = t.first_seatless; r; r = r->next) {
        if (!try_take(s, *r)) continue;
        static_cast<void>(remove(t, *r));
        r->assigned = &s;
        return r;
    }
    return nullptr;
}

void make_free(seat& s) noexcept {
    bool is_wanted = false;
    {
        const std::lock_guard guard(s.lock);
        happens_before(&s); // what belongs to a thread of the program: its copies in a reduction
        s.is_taken.store(false, std::memory_order_relaxed);
        is_wanted = s.wanted > 0;
    }
    if (is_wanted) wake_all(&s);
}

} // namespace

seat* take_seat(region& task) noexcept {
    if (seat* const s = find_seat(task)) return s;
    team& t = *task.in;
    // As long as the lock is held no other thread starts the task, so the team cannot end.
    const std::lock_guard guard(t.lock);
    put(t, task);
    queue::std_sync::fence(std::memory_order_seq_cst); // pairs with that in next_for()
    seat* const s = find_seat(task);
    if (s) static_cast<void>(remove(t, task));
    return s;
}

region* give_seat(seat& s) noexcept {
    make_free(s);
    return next_for(s);
}

void leave_seat(seat& s) noexcept {
    make_free(s);
    if (region* const r = next_for(s)) start_anywhere(r->start, r->priority);
}

seat_loan::seat_loan(region& who, bool at_barrier) noexcept : who_(who), entry_{&who, at_barrier} {
    seat& s = *who.on;
    {
        const std::lock_guard guard(s.lock);
        entry_.next = s.lenders;
        s.lenders = &entry_;
    }
    leave_seat(s);
}

seat_loan::~seat_loan() {
    seat& s = *who_.on;
    const auto take_back = [&] {
        if (s.is_taken.load(std::memory_order_relaxed)) return false; // under the lock
        s.is_taken.store(true, std::memory_order_relaxed);
        happens_after(&s);
        for (lender** at = &s.lenders; *at; at = &(*at)->next)
            if (*at == &entry_) {
                *at = entry_.next;
                break;
            }
        return true;
    };
    const bool has_it = [&] {
        const std::lock_guard guard(s.lock);
        if (take_back()) return true;
        ++s.wanted;
        return false;
    }();
    if (!has_it)
        wait_until(
            &s,
            [&] {
                const std::lock_guard guard(s.lock);
                if (!take_back()) return false;
                --s.wanted;
                return true;
            },
            patience::none);
    if (tool::is_on()) [[unlikely]]
        tool::switch_to(s, who_);
}

} // namespace weft::openmp
