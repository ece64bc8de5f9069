#include "policy/parts/memory_crews.hpp"
#include "policy/seam/registry.hpp"

#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

/// Space-bounded scheduling, with distributed queues (SB-D).
///
///   H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola: Experimental analysis of
///   space-bounded schedulers. SPAA 2014; as a baseline in S. Shiina, master's thesis, University of Tokyo,
///   2021, 5.5.
///
/// A task that says how many bytes it and its descendants touch is anchored to the smallest cache of which it
/// fills at most the part `sigma`, if that is below its parent's; else it has its parent's anchor, like a
/// task without bytes, and a task too large for every cache that of the memory. Its descendants run under its
/// anchor only.
///
/// A cache has room for as much as it holds. What takes of it:
///
///     anchored task    its bytes, from its start to its end, in its cache and those between that and the
///                      anchor of its parent
///     strand           a task while it runs on a worker: its bytes, but at most the part `mu`, in each cache
///                      that the worker shares with others, below the anchor
///
/// Who is free takes its own youngest task, or the oldest of another worker, of those that may run under its
/// caches and have room there.
///
/// Resolved where the sources are silent:
/// - A child without bytes runs silently, with all below it, and is stolen at random by the workers under the
///   anchor. What is below a task that is anchored to a worker's own cache is silent, too, and not stolen.
/// - Room that is lacking is given to a worker that sees only tasks that yield; and where nobody under the
///   cache runs anything, to a last look, or to one after many in vain. What is kept back may be what they
///   wait for.
/// - A root without bytes, and tasks of graphs, are anchored to the memory.
///
/// Invariants:
/// B1. The bytes of a task are written before its start only, in ready(), spawn() or next(): silent
///     descendants copy them. So what a strand takes is kept with its worker.
/// B2. A frame is a copy of a task that may be anchored. It is not: it gives back nothing at its end.
/// B3. Who gives back room wakes those that lacked it, if there is a task anywhere that takes any; who offers
///     such a task wakes all that may ever run it. (A spawn wakes nobody: the child takes over from its
///     parent, and gives back at its end.)
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
        crews_.attach(m, context);
        leaf_ = groups().leaf_level();
        is_flat_ = context.all().size() < 2;
        used_ = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(crews_.count()));
        asks_ = std::make_unique<queue::cell<bool>[]>(static_cast<std::size_t>(crews_.count()));
        strands_ = std::make_unique<strand[]>(static_cast<std::size_t>(context.all().size()));
        return {.task_bytes = sizeof(task_part), .lazy = is_flat_ && lazy_, .demotable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (is_flat_) return places_.put(w, t, reason);
        auto& part = t.data<task_part>();
        if (crews_.of(w).runs == &t) leaves(w);
        if (reason == ready_reason::root) { // in their order; next() anchors it
            part.bytes = t.hint().bytes;
            part.waits = part.bytes > 0;
            return places_.put(w, t, reason);
        }
        if (reason == ready_reason::exposed && t.fresh()) part.is_anchored = false; // B2
        const bool behind = crews_.goes_behind(w, reason);
        if (part.level == 0 && part.bytes == 0) return places_.put(w, t, reason);
        const int level = part.level, i = part.group; // once it is in a list it may run, and end
        const bool here = crews_.has(level, i, w), takes_room = part.bytes > 0;
        memory_crews::crew& c = here ? crews_.alone(w) : crews_.at(level, i);
        const place_id place = here ? w : places_.root_place() + 1 + crews_.number(level, i);
        if (takes_room) kept_.add(1);
        (behind ? c.behind : c.tasks).push_back(&t);
        if (!takes_room || level == leaf_) return crews_.for_any_of(level, i, place);
        context_->wake(crews_.at(level, i).who); // B3: which of them have room is not known
        return {place, {}};
    }

    decision next(worker_id w, bool last_look) override {
        if (is_flat_) return next_at_random(w, last_look);
        leaves(w);
        const decision got = choose(w, crews_.of(w), crews_.sees_only_yields(w), last_look);
        if (got.t != nullptr && got.t->data<task_part>().waits) takes(w, *got.t, room::as_it_is); // a root
        crews_.looked(w, got.t);
        return got;
    }

    workers victims(worker_id w) override {
        if (is_flat_) return context_->all();
        for (int l = 0; l < leaf_; ++l)
            if (asks_under(l, w).load_relaxed()) return crews_.around(l, w).who;
        return {};
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        if (is_flat_) return below();
        const auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        c = p;
        c.is_anchored = c.waits = false;
        if (p.level == leaf_ || child.hint().bytes == 0) {
            if (lazy_ && p.level < leaf_) lets_ask(p);
            if (!lazy_) moves_on(w, child);
            return below();
        }
        c.bytes = child.hint().bytes;
        c.waits = true;
        ends_strand(w); // nobody is woken: the child takes over, and it ends
        if (!takes(w, child, room::there_is)) {
            takes(w, parent, room::anywhere);
            return spawn_order::parent_first;
        }
        moves_on(w, child);
        return spawn_order::child_first;
    }

    void started(worker_id w, task& t) override { resumed(w, t); }
    void resumed(worker_id w, task& t) override {
        if (is_flat_ || crews_.of(w).runs != nullptr) return;
        takes(w, t, room::anywhere); // handed to it by the gate, or over before it slept
        crews_.runs(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason) override { ends_turn(w, t); }
    void finished(worker_id w, task& t, const usage&) override {
        if (is_flat_) return;
        ends_turn(w, t);
        const auto& part = t.data<task_part>();
        if (!part.is_anchored) return;
        const worker_id under = groups().head(part.level, part.group);
        changes(part.from + 1, part.level + 1, under, -static_cast<std::int64_t>(part.bytes));
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
    struct alignas(queue::k_cache_line_bytes) strand { // of a worker, and the worker's alone
        std::size_t bytes = 0;
        int below = 0; // level
    };
    enum class room : std::uint8_t {
        there_is,
        or_idle,  // or nobody under the cache runs anything
        as_it_is, // none is needed
        anywhere, // and it need not be under its anchor: it runs here already
    };

    const memory_groups& groups() const noexcept { return crews_.groups(); }
    spawn_order below() const noexcept { return lazy_ ? spawn_order::lazy : spawn_order::child_first; }
    queue::cell<bool>& asks_under(int level, worker_id w) noexcept {
        return asks_[static_cast<std::size_t>(crews_.number(level, groups().of_worker(level, w)))];
    }
    std::int64_t& used(int level, worker_id w) noexcept {
        return used_[static_cast<std::size_t>(crews_.number(level, groups().of_worker(level, w)))];
    }
    /// Not of the memory.
    std::int64_t capacity(int level, worker_id w) const noexcept {
        return static_cast<std::int64_t>(groups().capacity(level, groups().of_worker(level, w)));
    }

    // ---- room

    /// The level of the smallest cache over `w`, not above `level`, that `bytes` may be anchored to.
    int fitting(std::size_t bytes, int level, worker_id w) const noexcept {
        const auto fits = [&](int l) { return bytes <= part_of(capacity(l, w), sigma_); };
        while (level < leaf_ && fits(level + 1)) ++level;
        return level;
    }
    std::int64_t of_strand(std::size_t bytes, int level, worker_id w) const noexcept {
        return static_cast<std::int64_t>(std::min(bytes, part_of(capacity(level, w), mu_)));
    }
    static std::size_t part_of(std::int64_t capacity, int percent) noexcept {
        return static_cast<std::size_t>(static_cast<double>(capacity) * percent / 100);
    }

    /// `w` begins to run `t`, if it may, and if there is room. `t` is in the caller's hands or list.
    bool takes(worker_id w, task& t, room how) noexcept {
        auto& part = t.data<task_part>();
        if (how != room::anywhere && !crews_.has(part.level, part.group, w)) return false;
        if (part.bytes == 0) return true;
        // The gate may hand it to a worker that is not under its parent's anchor.
        const bool anchors = part.waits && t.fresh() && crews_.has(part.level, part.group, w);
        const int to = anchors ? fitting(part.bytes, part.level, w) : part.level;
        const auto wants = [&](int l) {
            return l <= to ? static_cast<std::int64_t>(part.bytes) : of_strand(part.bytes, l, w);
        };
        lock_.lock();
        for (int l = part.level + 1; l <= std::max(to, leaf_ - 1) && how < room::as_it_is; ++l) {
            if (used(l, w) + wants(l) <= capacity(l, w)) continue;
            if (how == room::or_idle && crews_.is_idle(l, w)) continue;
            lock_.unlock();
            return false;
        }
        for (int l = part.level + 1; l <= std::max(to, leaf_ - 1); ++l) used(l, w) += wants(l);
        lock_.unlock();
        strands_[static_cast<std::size_t>(w)] = {part.bytes, to};
        if (!anchors) return true;
        part.waits = false;
        part.is_anchored = to > part.level;
        part.from = part.level;
        part.level = static_cast<std::int16_t>(to);
        part.group = groups().of_worker(to, w);
        return true;
    }

    void changes(int first, int last, worker_id w, std::int64_t by) {
        if (first >= last) return;
        lock_.lock();
        for (int l = first; l < last; ++l) used(l, w) += by;
        lock_.unlock();
        wakes_for_room(first, w);
    }
    void gives_back_strand(worker_id w) {
        const strand own = ends_strand(w);
        if (own.bytes > 0 && own.below + 1 < leaf_) wakes_for_room(own.below + 1, w);
    }
    strand ends_strand(worker_id w) noexcept {
        const strand own = std::exchange(strands_[static_cast<std::size_t>(w)], {});
        if (own.bytes == 0 || own.below + 1 >= leaf_) return own;
        lock_.lock();
        for (int l = own.below + 1; l < leaf_; ++l) used(l, w) -= of_strand(own.bytes, l, w);
        lock_.unlock();
        return own;
    }
    /// Whoever has looked in vain since a task was put has had the lock before, so the task is counted.
    void wakes_for_room(int level, worker_id w) {
        if (kept_.load_relaxed() > 0) context_->wake(crews_.around(level, w).who); // B3
    }

    void leaves(worker_id w) {
        crews_.stops(w);
        gives_back_strand(w);
    }
    void moves_on(worker_id w, const task& child) noexcept { crews_.runs(w, child); }
    void ends_turn(worker_id w, const task& t) {
        if (is_flat_ || crews_.of(w).runs != &t) return;
        crews_.leaves(w, t, kept_.load_relaxed() > 0);
        gives_back_strand(w);
    }

    void lets_ask(const task_part& p) {
        queue::cell<bool>& asks = asks_[static_cast<std::size_t>(crews_.number(p.level, p.group))];
        if (asks.load_relaxed()) return;
        asks.store_relaxed(true);
        context_->wake(crews_.at(p.level, p.group).who); // victims() has changed
    }

    // ---- what a worker takes

    task* youngest(worker_id w, queue::locked_list<task>& list, room how) noexcept {
        return counted(list.pop_last_if([&](const task& t) { return takes(w, const_cast<task&>(t), how); }));
    }
    task* oldest(worker_id w, queue::locked_list<task>& list, room how) noexcept {
        return counted(list.pop_first_if([&](const task& t) { return takes(w, const_cast<task&>(t), how); }));
    }
    task* counted(task* t) noexcept {
        if (t != nullptr && t->data<task_part>().bytes > 0) kept_.add(-1);
        return t;
    }

    decision choose(worker_id w, memory_crews::worker_part& me, bool only_yields, bool last_look) {
        memory_crews::crew& own = crews_.alone(w);
        const room how = only_yields                 ? room::as_it_is
                         : crews_.may_help(w, false) ? room::or_idle
                                                     : room::there_is;
        if (++me.turns % places::turns_to_fair == 0) {
            if (me.turns / places::turns_to_fair % 2 == 1)
                if (task* const t = oldest(w, own.behind, how)) return {t, w};
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        }
        if (const decision p = of_own_crews(w, how); p.t != nullptr) return p;
        if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (!only_yields || last_look)
            if (task* const t = oldest(w, own.behind, how)) return {t, w};
        if (!last_look) return look_once(w, how);
        if (const decision p = look_everywhere(w, how); p.t != nullptr) return p;
        if (const decision p = of_own_crews(w, room::or_idle); p.t != nullptr) return p;
        if (task* const t = oldest(w, own.behind, room::or_idle)) return {t, w};
        return look_everywhere(w, room::or_idle);
    }

    decision of_own_crews(worker_id w, room how) noexcept {
        if (task* const t = youngest(w, crews_.alone(w).tasks, how)) return {t, w};
        for (int l = leaf_ - 1; l > 0; --l) {
            const int here = groups().of_worker(l, w);
            memory_crews::crew& c = crews_.at(l, here);
            task* t = oldest(w, c.tasks, how);
            if (t == nullptr) t = oldest(w, c.behind, how);
            if (t != nullptr) return {t, places_.root_place() + 1 + crews_.number(l, here)};
        }
        return {};
    }

    task* of_other(worker_id w, worker_id victim, room how) noexcept {
        memory_crews::crew& c = crews_.alone(victim);
        if (task* const t = oldest(w, c.tasks, how)) return t;
        return oldest(w, c.behind, how);
    }

    decision look_once(worker_id w, room how) {
        const worker_id victim = places_.random_victim(w);
        if (task* const t = of_other(w, victim, how)) return {t, victim};
        const places::look_result found = places_.look(victim);
        if (found.t != nullptr || found.lost || !lazy_) return {found.t, victim};
        for (int l = 0; l < leaf_; ++l) // they share an anchor below which tasks run silently
            if (groups().of_worker(l, w) == groups().of_worker(l, victim) && asks_under(l, w).load_relaxed())
                return {nullptr, victim, true};
        return {nullptr, victim};
    }

    decision look_everywhere(worker_id w, room how) {
        for (worker_id v = 0; v < context_->all().last; ++v)
            if (task* const t = v == w ? nullptr : of_other(w, v, how)) return {t, v};
        return places_.look_everywhere(w, places_.random_victim(w));
    }

    decision next_at_random(worker_id w, bool last_look) {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const worker_id victim = places_.random_victim(w);
        if (victim < 0) return {};
        if (last_look) return places_.look_everywhere(w, victim);
        const places::look_result found = places_.look(victim);
        return {found.t, victim, found.t == nullptr && !found.lost && lazy_};
    }

    const int sigma_, mu_; // percent
    const bool lazy_;
    bool is_flat_ = true; // one worker
    policy_context* context_ = nullptr;
    places places_; // of tasks that take no room and may run anywhere
    memory_crews crews_;
    int leaf_ = 0;
    queue::spin_lock<> lock_;                   // of used_
    std::unique_ptr<std::int64_t[]> used_;      // bytes of each cache
    std::unique_ptr<queue::cell<bool>[]> asks_; // tasks have run silently below this anchor; never unset
    std::unique_ptr<strand[]> strands_;
    queue::cell<int> kept_; // tasks in lists that take room
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
