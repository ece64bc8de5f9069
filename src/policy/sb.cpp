#include "policy/parts/cache_room.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/memory_worker_groups.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// Space-bounded scheduling, with distributed queues (SB-D).
///
///   H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola: Experimental analysis of
///   space-bounded schedulers. SPAA 2014; as a baseline in S. Shiina, master's thesis, University of Tokyo,
///   2021, 5.5.
///
/// A task that says how many bytes it and its descendants touch is anchored to the smallest cache of which it
/// fills at most the part `sigma`, if that cache is below its parent's anchor. Otherwise it has its parent's
/// anchor, like a task without bytes. A task too large for every cache is anchored to the memory. Its
/// descendants run under its anchor only. Anchored tasks and strands take room in caches: cache_room.hpp.
///
/// A free worker takes its own youngest task, or the oldest of another worker, of those that may run under
/// its caches and have room there.
///
/// Resolved where the sources are silent:
/// - A child without bytes runs silently, with all below it, and is stolen at random by the workers under the
///   anchor. What is below a task that is anchored to a worker's own cache is silent, too, and not stolen.
/// - Room that is lacking is given in two cases: to a worker that sees only tasks that yield; and, if no
///   worker under the cache runs anything, to a last look, or to a look after many that failed. What is kept
///   back may be what they wait for.
/// - A root without bytes, and tasks of graphs, are anchored to the memory.
///
/// Invariants:
/// B1. The bytes of a task are written before its start only, in ready(), spawn() or next(): silent
///     descendants copy them. So what a strand takes is kept with its worker. (no test)
/// B2. A frame is a copy of a task that may be anchored. The frame is not: it gives back nothing at its end.
/// B3. The worker that gives back room wakes those that lacked it, if there is a task anywhere that takes
///     any. The worker that offers such a task wakes all that may ever run it. (A spawn wakes no worker: the
///     child takes over from its parent, and gives back at its end.)
namespace weft::policies {
namespace {

constexpr knob sb_knobs[] = {
    {"sigma", "50", "1..100", "percent of a cache that a task may fill to be anchored there"},
    {"mu", "20", "0..100", "percent of a cache that a strand takes at most"},
    zone_knob(),
};

class space_bounded final : public policy {
public:
    space_bounded(int sigma, int mu, bool lazy) : sigma_(sigma), mu_(mu), lazy_(lazy) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        worker_groups_.attach(m, context);
        leaf_ = groups().leaf_level();
        is_flat_ = context.all().size() < 2;
        room_.attach(groups(), sigma_, mu_);
        has_silent_ = std::make_unique<queue::cell<bool>[]>(static_cast<std::size_t>(groups().count()));
        return {.task_bytes = sizeof(task_part), .lazy = is_flat_ && lazy_, .demotable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (is_flat_) return places_.put(w, t, reason);
        auto& part = t.data<task_part>();
        if (worker_groups_.of(w).runs == &t) leaves(w);
        if (reason == ready_reason::root) { // in their order; next() anchors it
            part.bytes = t.hint().bytes;
            part.waits = part.bytes > 0;
            return places_.put(w, t, reason);
        }
        if (reason == ready_reason::exposed && t.fresh()) part.is_anchored = false; // B2
        const bool behind = worker_groups_.goes_behind(w, reason);
        if (part.level == 0 && part.bytes == 0) return places_.put(w, t, reason);
        const int level = part.level, i = part.group; // once it is in a list it may run, and end
        const bool here = worker_groups_.has(level, i, w), takes_room = part.bytes > 0;
        auto& lists = here ? worker_groups_.alone(w) : worker_groups_.at(level, i);
        const place_id place = here ? w : place_of(level, i);
        if (takes_room) waiting_.add(1);
        (behind ? lists.yielded : lists.tasks).push_back(&t);
        if (!takes_room || level == leaf_) return worker_groups_.for_any_of(level, i, place);
        context_->wake(worker_groups_.at(level, i).members); // B3: which of them have room is not known
        return {place, {}};
    }

    decision next(worker_id w, bool last_look) override {
        if (is_flat_) {
            const decision own = places_.own(w, last_look);
            return own.t != nullptr ? own : places_.look_outside(w, last_look, lazy_);
        }
        leaves(w);
        const decision got = choose(w, last_look);
        if (got.t != nullptr && got.t->data<task_part>().waits) take(w, *got.t, room::as_it_is); // a root
        worker_groups_.looked(w, got.t);
        return got;
    }

    workers victims(worker_id w) override {
        if (is_flat_) return context_->all();
        for (int l = 0; l < leaf_; ++l)
            if (has_silent_tasks(l, w)) return worker_groups_.around(l, w).members;
        return {};
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        if (is_flat_) return below();
        const auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        c = p;
        c.is_anchored = c.waits = false; // B1
        if (p.level == leaf_ || child.hint().bytes == 0) {
            if (lazy_ && p.level < leaf_) allow_asking(p);
            if (!lazy_) worker_groups_.runs(w, child);
            return below();
        }
        c.bytes = child.hint().bytes;
        c.waits = true;
        room_.end_strand(w); // no worker is woken: the child takes over, and it ends
        if (!take(w, child, room::there_is)) {
            take(w, parent, room::anywhere);
            return spawn_order::parent_first;
        }
        worker_groups_.runs(w, child);
        return spawn_order::child_first;
    }

    void started(worker_id w, task& t) override { resumed(w, t); }
    void resumed(worker_id w, task& t) override {
        if (is_flat_ || worker_groups_.of(w).runs != nullptr) return;
        take(w, t, room::anywhere); // the gate has handed it to `w`, or its wait was over before it slept
        worker_groups_.runs(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason) override { ends_turn(w, t); }
    void finished(worker_id w, task& t, const usage&) override {
        if (is_flat_) return;
        ends_turn(w, t);
        const auto& part = t.data<task_part>();
        if (!part.is_anchored) return;
        const worker_id under = groups().head(part.level, part.group);
        room_.end_anchor(under, part.bytes, part.from, part.level);
        wake_for_room(part.from + 1, under);
    }

private:
    struct task_part {     // zero: of the memory, without bytes
        std::size_t bytes; // 0: unknown
        std::int32_t group;
        std::int16_t level; // of the anchor; `group` is which one it is
        std::int16_t from;  // of its parent's
        bool is_anchored;   // it takes room until it ends
        bool waits;         // `level` and `group` are its parent's: it has not been anchored yet
    };
    enum class room : std::uint8_t {
        there_is,
        or_idle,  // or no worker under the cache runs anything
        as_it_is, // none is needed
        anywhere, // and it need not be under its anchor: it runs here already
    };

    const memory_groups& groups() const noexcept { return worker_groups_.groups(); }
    spawn_order below() const noexcept { return lazy_ ? spawn_order::lazy : spawn_order::child_first; }
    place_id place_of(int level, int i) const noexcept {
        return places_.root_place() + 1 + groups().number(level, i);
    }

    // ---- silent tasks

    bool has_silent_tasks(int level, worker_id w) const noexcept {
        const int number = groups().number(level, groups().of_worker(level, w));
        return has_silent_[static_cast<std::size_t>(number)].load_relaxed();
    }
    void allow_asking(const task_part& p) {
        auto& silent = has_silent_[static_cast<std::size_t>(groups().number(p.level, p.group))];
        if (silent.load_relaxed()) return;
        silent.store_relaxed(true);
        context_->wake(worker_groups_.at(p.level, p.group).members); // victims() has changed
    }

    // ---- anchors and room

    /// `w` begins to run `t`, if it may, and if there is room. `t` is in the caller's hands or list.
    bool take(worker_id w, task& t, room how) noexcept {
        auto& part = t.data<task_part>();
        const bool is_under_anchor = worker_groups_.has(part.level, part.group, w);
        if (how != room::anywhere && !is_under_anchor) return false;
        if (part.bytes == 0) return true;
        // The gate may hand it to a worker that is not under its parent's anchor.
        const bool anchors = part.waits && t.fresh() && is_under_anchor;
        const int to = anchors ? room_.fitting(part.bytes, part.level, w) : part.level;
        const auto may_exceed = [&](int l) {
            return how >= room::as_it_is || (how == room::or_idle && worker_groups_.is_idle(l, w));
        };
        if (!room_.take(w, part.bytes, part.level, to, may_exceed)) return false;
        if (!anchors) return true;
        part.waits = false; // B1: `t` has not begun
        part.is_anchored = to > part.level;
        part.from = part.level;
        part.level = static_cast<std::int16_t>(to);
        part.group = groups().of_worker(to, w);
        return true;
    }

    /// A worker that found no task after one was put has had the lock of the room before, so the task is
    /// counted.
    void wake_for_room(int level, worker_id w) {
        if (waiting_.load_relaxed() > 0) context_->wake(worker_groups_.around(level, w).members); // B3
    }
    void give_back_strand(worker_id w) {
        const cache_room::strand own = room_.end_strand(w);
        if (own.bytes > 0 && own.below + 1 < leaf_) wake_for_room(own.below + 1, w);
    }

    void leaves(worker_id w) {
        worker_groups_.stops(w);
        give_back_strand(w);
    }
    void ends_turn(worker_id w, const task& t) {
        if (is_flat_ || worker_groups_.of(w).runs != &t) return;
        worker_groups_.leaves(w, t, waiting_.load_relaxed() > 0);
        give_back_strand(w);
    }

    // ---- what a worker takes

    task* youngest(worker_id w, queue::locked_list<task>& list, room how) noexcept {
        return counted(list.pop_last_if([&](const task& t) { return take(w, const_cast<task&>(t), how); }));
    }
    task* oldest(worker_id w, queue::locked_list<task>& list, room how) noexcept {
        return counted(list.pop_first_if([&](const task& t) { return take(w, const_cast<task&>(t), how); }));
    }
    task* counted(task* t) noexcept {
        if (t != nullptr && t->data<task_part>().bytes > 0) waiting_.add(-1);
        return t;
    }

    decision choose(worker_id w, bool last_look) {
        auto& own = worker_groups_.alone(w);
        const bool only_yields = worker_groups_.sees_only_yields(w);
        const room how = only_yields                         ? room::as_it_is
                         : worker_groups_.may_help(w, false) ? room::or_idle
                                                             : room::there_is;
        const turn now = worker_groups_.of(w).turns.begin();
        if (now == turn::odd_fair)
            if (task* const t = oldest(w, own.yielded, how)) return {t, w};
        if (now != turn::usual)
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (const decision p = of_own_groups(w, how); p.t != nullptr) return p;
        if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (!only_yields || last_look)
            if (task* const t = oldest(w, own.yielded, how)) return {t, w};
        if (!last_look) return look_once(w, how);
        if (const decision p = look_everywhere(w, how); p.t != nullptr) return p;
        if (const decision p = of_own_groups(w, room::or_idle); p.t != nullptr) return p;
        if (task* const t = oldest(w, own.yielded, room::or_idle)) return {t, w};
        return look_everywhere(w, room::or_idle);
    }

    decision of_own_groups(worker_id w, room how) noexcept {
        if (task* const t = youngest(w, worker_groups_.alone(w).tasks, how)) return {t, w};
        for (int l = leaf_ - 1; l > 0; --l) {
            const int here = groups().of_worker(l, w);
            if (task* const t = oldest_of(w, worker_groups_.at(l, here), how)) return {t, place_of(l, here)};
        }
        return {};
    }
    task* oldest_of(worker_id w, memory_worker_groups::worker_group& lists, room how) noexcept {
        if (task* const t = oldest(w, lists.tasks, how)) return t;
        return oldest(w, lists.yielded, how);
    }

    decision look_once(worker_id w, room how) {
        const worker_id victim = places_.random_victim(w);
        if (task* const t = oldest_of(w, worker_groups_.alone(victim), how)) return {t, victim};
        const places::look_result found = places_.look(victim);
        if (found.t != nullptr || found.lost || !lazy_) return {found.t, victim};
        for (int l = 0; l < leaf_; ++l) // they share an anchor below which tasks run silently
            if (groups().of_worker(l, w) == groups().of_worker(l, victim) && has_silent_tasks(l, w))
                return {nullptr, victim, true};
        return {nullptr, victim};
    }

    decision look_everywhere(worker_id w, room how) {
        for (worker_id v = 0; v < context_->all().last; ++v)
            if (task* const t = v == w ? nullptr : oldest_of(w, worker_groups_.alone(v), how)) return {t, v};
        return places_.look_everywhere(w, places_.random_victim(w));
    }

    const int sigma_, mu_; // percent
    const bool lazy_;
    bool is_flat_ = true; // one worker
    policy_context* context_ = nullptr;
    places places_; // of tasks that take no room and may run anywhere
    memory_worker_groups worker_groups_;
    cache_room room_;
    int leaf_ = 0;
    std::unique_ptr<queue::cell<bool>[]>
        has_silent_;           // tasks have run silently below this anchor; never unset
    queue::cell<int> waiting_; // tasks in lists that take room
};

} // namespace

extern constinit const policy_entry sb_entry{
    .name = "sb",
    .summary = "space-bounded: tasks are anchored to the smallest cache that holds them, while there is room",
    .source = "Simhadri et al., SPAA 2014 (SB-D); Shiina, master's thesis, University of Tokyo 2021, 5.5",
    .wants = "bytes of all tasks",
    .helps = "data larger than the last-level caches, used again in each part, also where parts are unequal",
    .knobs = sb_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<space_bounded>(static_cast<int>(values.integer("sigma")),
                                               static_cast<int>(values.integer("mu")),
                                               values.is("zone", "lazy"));
    },
};

} // namespace weft::policies
