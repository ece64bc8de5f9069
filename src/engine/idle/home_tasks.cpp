#include "engine/idle/home_tasks.hpp"

#include "engine/ports/team_host.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/ranks.hpp"
#include "queue/cache_line.hpp"
#include "queue/spin_lock.hpp"

#include <array>
#include <cstddef>
#include <mutex>

namespace weft::engine {

namespace {

/// Workers share a list if their ids are equal but for a multiple of the number of lists.
struct alignas(queue::k_cache_line_bytes) list {
    queue::spin_lock<> lock{};
    std::atomic<int> count{0};  ///< written under the lock
    home_task* first = nullptr; ///< guarded by it
    home_task* last = nullptr;
};

constexpr std::size_t lists = 256;
constinit std::array<list, lists> all{};

list& list_of(const worker& w) noexcept { return all[static_cast<std::size_t>(w.id) % lists]; }

bool may_take(const home_task& h, const worker& w) noexcept {
    return h.home == &w && h.of->arena_ == &w.arena();
}

/// The rank by which the arena knows the worker.
worker_id rank_in(const arena& a, const worker& w) noexcept {
    if (!a.is_team()) return w.id;
    for (worker_id r = 0; r < a.size(); ++r)
        if (a.members[rank(r)] == &w) return r;
    return 0;
}

} // namespace

std::atomic<int>& home_tasks_of(const worker& w) noexcept { return list_of(w).count; }

void send_home(home_task& h) noexcept {
    worker& to = *h.home;
    arena& in = *h.of->arena_;
    list& l = list_of(to);
    {
        const std::lock_guard guard(l.lock);
        h.next = nullptr;
        (l.first ? l.last->next : l.first) = &h;
        l.last = &h;
        l.count.store(l.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    // `h` may be gone. The arena and the workers stay as long as the engine.
    const worker_id at = rank_in(in, to);
    to.engine.teams.wake_in(in, {at, at + 1});
    // Not wake_inactive(): another worker may be active on the same core. After the fence of wake_in().
    if (at >= in.active_count.load(std::memory_order_relaxed)) to.engine.teams.call(to);
}

task* take_home_task(const worker& w) noexcept {
    list& l = list_of(w);
    const std::lock_guard guard(l.lock);
    home_task* before = nullptr;
    for (home_task* h = l.first; h; before = h, h = h->next) {
        if (!may_take(*h, w)) continue;
        (before ? before->next : l.first) = h->next;
        if (l.last == h) l.last = before;
        l.count.store(l.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return h->of;
    }
    return nullptr;
}

} // namespace weft::engine
