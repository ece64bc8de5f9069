#include "engine/idle/home_tasks.hpp"
#include "engine/team/teams.hpp"
#include "engine/threads/thread_engine.hpp"

#include "machine/workers.hpp"
#include "share/lending_board.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <pthread.h>
#include <sched.h>

/// Active and inactive workers: idle/README.md, "Inactive workers".
namespace weft::engine {

void thread_engine::set_active(int count) {
    const std::lock_guard guard(resizing);
    follows_cores = false;
    program_chose = true;
    change_active(count);
}

void thread_engine::change_active(int count) {
    chosen_active = std::clamp(count, 1, homes);
    match_active();
}

void thread_engine::match_active() {
    const int count = chosen_active < homes ? chosen_active : homes + active_guests;
    if (!need.resizable || count == active_count.load(std::memory_order_relaxed))
        return; // relaxed: active_count is written under the lock only
    sleep_protocol_of(outermost)->resize(count, [&] { outermost.scheduler->resized({0, count}); });
}

void thread_engine::set_guests(int count) {
    const std::lock_guard guard(resizing);
    active_guests = count;
    match_active();
}

bool thread_engine::may_borrow() {
    const std::lock_guard guard(resizing);
    return chosen_active == homes;
}

void thread_engine::begin_lending() {
    if (!need.resizable)
        throw error(
            "all workers of this policy are always active, so it can neither borrow cores nor give them back",
            "policy '" + options.record.policy_spec + "' with WEFT_LEND",
            "a policy whose number of active workers may change, such as packing or steal");
    if (auto board = share::lending_board::join(options.lend.directory, homes,
                                                static_cast<int>(options.lend.reach.size())))
        lends = std::make_unique<core_lending>(*this, options.lend, homes, std::move(*board));
    const std::lock_guard guard(resizing);
    match_active();
}

void thread_engine::wish_active(int count) {
    const std::lock_guard guard(resizing);
    if (program_chose || count == wished_active) return;
    wished_active = count;
    change_active(count > 0 ? count : homes);
}

void thread_engine::wait_inactive(thread_worker& w) {
    preemption.pauses(w);
    goes_home(w);
    w.count.asleep.begin(now());
    const own_sleep here(w.usage);
    const lent_while_asleep lent(lends.get(), w);
    sleep_protocol_of(w.arena())->wait_inactive(w.local, [&] {
        if (has_messages(w)) read_messages(w); // tasks that come to it are found by others (S5)
        return is_stopping(w) || is_called(w) || has_home_tasks(w) || has_share(w) ||
               gate.has_bound_for(w.core(), &w.arena());
    });
    w.count.asleep.end(now());
    leaves_home(w);
    pin_again(w); // a control group that changed has moved it
}

void thread_engine::match_active_to_cores(std::optional<double> quota) {
    // The masks of all threads together, since each may be pinned to a core of its own. A control group moves
    // them all.
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const auto& w : all_workers) {
        if (is_guest(*w)) continue; // its core is another program's
        cpu_set_t own;
        if (pthread_getaffinity_np(w->thread, sizeof own, &own) != 0)
            return; // the masks are larger than cpu_set_t
        CPU_OR(&all, &all, &own);
    }
    const std::lock_guard guard(resizing);
    if (follows_cores && wished_active == 0)
        change_active(workers_within(std::max(CPU_COUNT(&all), 1), quota));
}

} // namespace weft::engine
