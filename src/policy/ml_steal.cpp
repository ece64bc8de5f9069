#include "policy/parts/fair_turns.hpp"
#include "policy/parts/large_tasks.hpp"
#include "policy/parts/memory_worker_groups.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <weft/impl/group.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

/// Multi-level work stealing: random stealing at each level of the caches, one task at a time under a cache.
///
///   S. Shiina: Almost deterministic work stealing. Master's thesis, University of Tokyo, 2021. 5.3.1: the
///   baseline that chapter 5 compares multi-level ADWS with.
///
/// The levels, and which of them a group of tasks goes to, are those of ml-adws (memory_groups.hpp). A task
/// is of a level, and the memory groups of that level do what workers do elsewhere:
///
///     level 0       roots, while none of their groups is open
///     between       large tasks (large_tasks.hpp): child-first, stolen at random, the oldest first, by other
///                   memory groups of the level. A memory group runs one at a time, by any of its workers,
///                   its leader
///     last level    what fits: stolen at random by the workers under its memory group, and silent, except
///                   the children of the group that went there (a join that is silent has no group)
///
/// A group whose data fit takes its task to a deeper level, below the memory group that runs it, until the
/// group ends. The worker that finishes its last child resumes the task, and is the leader from then on.
///
/// Resolved where the thesis is silent:
/// - Memory groups are skipped if the data fit all groups of the next level below together, as in ml-adws.
/// - The main memory is no cache: several roots may be open at a time.
/// - Tasks of graphs, and children in the group of another task, are *free*: of the last level, below the
///   main memory, so that any worker may steal them. So are the groups of a root that fit all caches
///   together.
///
/// Invariants:
/// I1. A memory group between is held by at most one large task, with two exceptions: a second root may enter
///     where it is; and if none of the group's workers runs anything, or one sees only tasks that yield,
///     another task is let in, since what is kept back may be what they wait for.
/// I2. Tasks of the last level run under the memory group that they are bound to.
/// I3. The bytes of a task of the last level are not written after its start, except in group hooks: silent
///     descendants copy them. So such a task holds no memory group; its group does.
namespace weft::policies {
namespace {

constexpr knob ml_steal_knobs[] = {
    zone_knob(),
};

class multi_level_stealing final : public policy {
public:
    explicit multi_level_stealing(bool lazy) : lazy_(lazy) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        worker_groups_.attach(m, context);
        large_.attach(worker_groups_, context);
        leaf_ = groups().leaf_level();
        is_flat_ = leaf_ < 2 || context.all().size() < 2;
        shared_ = std::make_unique<shared_part[]>(static_cast<std::size_t>(groups().count()));
        return {.task_bytes = sizeof(task_part),
                .group_bytes = sizeof(group_part),
                .lazy = is_flat_ && lazy_,
                .demotable = true,
                .resizable = is_flat_}; // a cache without workers would keep its large task
    }

    // ---- a group goes to the level that its data fit, and comes back

    void group_begin(worker_id w, task& t, group& g) override {
        auto& its = g.data<group_part>();
        its = {};
        auto& part = t.data<task_part>();
        const int level = level_of(part);
        if (is_flat_ || level == leaf_) return;
        const auto bytes = static_cast<double>(g.hint().bytes > 0 ? g.hint().bytes : t.hint().bytes);
        const int here = groups().of_worker(level, w);
        const int to = groups().deepest_that_holds(bytes, level, {here, here + 1});
        if (to == level) return;
        its.opened_in = this;
        its.saved = part;
        its.level = static_cast<std::int16_t>(level);
        its.at = here;
        its.is_last = to == leaf_;
        part.above = static_cast<std::int16_t>(leaf_ - to);
        part.under = its.level;
        part.group = here;
        part.hold = 0; // I3: now the group holds what its task did
        if (to == leaf_) {
            open(level, here);
        } else {
            part.hold = large_.enter(w, to);
        }
    }

    after_wait group_wait(worker_id, task& t, group& g) override {
        auto& its = g.data<group_part>();
        if (g.owner() != &t || its.opened_in != this) its.is_foreign = true; // it may outlive its owner
        return after_wait::stay;
    }

    void group_end(worker_id, task& t, group& g) override {
        auto& its = g.data<group_part>();
        if (its.opened_in == nullptr) return;
        if (its.is_foreign || g.owner() != &t) return its.opened_in->close(its, true);
        auto& part = t.data<task_part>();
        give_back(part);
        close(its, false);
        const bool is_counted = part.is_counted;
        part = its.saved;
        part.is_counted = is_counted;
    }

    // ---- a spawn: child-first, and silent where the data fit

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        if (is_flat_) return lazy_ ? spawn_order::lazy : spawn_order::child_first;
        auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        const group* const its = child.parent_group();
        const bool is_own = its != nullptr && its->owner() == &parent;
        if (level_of(p) == leaf_) { // I2, I3
            c = p;
            c.is_counted = false;
            const bool is_shown = is_own && child.parent_group()->data<group_part>().opened_in == this;
            if (lazy_ && !is_shown) return spawn_order::lazy;
            worker_groups_.runs(w, child);
            return spawn_order::child_first;
        }
        if (!is_own) return spawn_order::parent_first; // free
        c = p;                                         // the memory group continues with the child
        p.hold = 0;
        worker_groups_.runs(w, child);
        return spawn_order::child_first;
    }

    // ---- a task goes to the memory group that it is bound to

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (is_flat_) return places_.put(w, t, reason);
        auto& part = t.data<task_part>();
        if (worker_groups_.of(w).runs == &t) worker_groups_.stops(w);
        if (reason == ready_reason::root) part.above = static_cast<std::int16_t>(leaf_);
        if (reason == ready_reason::exposed && t.fresh())
            part.is_counted = false; // a copy, which nothing has copied yet
        give_back(part);
        const bool behind = worker_groups_.goes_behind(w, reason);
        const int level = level_of(part);
        if (level == 0 || is_free(part)) return places_.put(w, t, reason);
        return level == leaf_ ? put_small(w, t, part, behind) : put_large(w, t, part, level, behind);
    }

    // ---- a task begins, stops and ends

    void started(worker_id w, task& t) override {
        if (is_flat_) return;
        auto& part = t.data<task_part>();
        begin(w, t);
        if (!is_free(part)) return;
        part.is_counted = true;
        open(0, 0);
    }
    void resumed(worker_id w, task& t) override {
        if (!is_flat_) begin(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason) override { stop(w, t); }
    void finished(worker_id w, task& t, const usage&) override {
        stop(w, t);
        if (t.data<task_part>().is_counted) shared_at(0, 0).open.add(-1);
    }

    // ---- a worker looks for a task

    decision next(worker_id w, bool last_look) override {
        if (is_flat_) {
            const decision own = places_.own(w, last_look);
            return own.t != nullptr ? own : places_.look_outside(w, last_look, lazy_);
        }
        worker_groups_.stops(w);
        const decision got = choose(w, worker_groups_.of(w), worker_groups_.sees_only_yields(w), last_look);
        worker_groups_.looked(w, got.t);
        return got;
    }

    workers victims(worker_id w) override {
        if (is_flat_ || shared_at(0, 0).open.load_relaxed() > 0) return context_->all();
        const int level = sharing_level(w);
        return level > 0 ? worker_groups_.around(level, w).members : workers{};
    }

private:
    struct task_part {      // zero: free
        std::int16_t above; // levels above the last one
        std::int16_t under; // level of the memory group below which it was spawned,
        std::int32_t group; // and which one it is
        std::int32_t hold;  // of a memory group of its level; 0: none, and always on the last level
        bool is_counted;    // in `open` of the main memory
    };
    struct group_part {
        multi_level_stealing* opened_in; // null: it stays where its task is
        task_part saved;
        std::int32_t at; // where it was opened
        std::int16_t level;
        bool is_last; // it went to the last level
        bool is_foreign;
    };
    struct alignas(queue::k_cache_line_bytes) shared_part { // of a memory group; any worker
        queue::locked_list<task> arrivals; // of the last level, bound to it and made ready elsewhere
        queue::cell<int> open; // groups below, on the last level; of the main memory free tasks, too
    };

    const memory_groups& groups() const noexcept { return worker_groups_.groups(); }
    shared_part& shared_at(int level, int i) noexcept {
        return shared_[static_cast<std::size_t>(groups().number(level, i))];
    }
    int level_of(const task_part& p) const noexcept { return leaf_ - p.above; }
    bool is_free(const task_part& p) const noexcept { return p.above == 0 && p.under == 0; }
    bool is_large(const task_part& p) const noexcept { return p.above > 0 && p.above < leaf_; }
    place_id place_of(int level, int i) const noexcept {
        return places_.root_place() + 1 + groups().number(level, i);
    }

    // ---- which task has a memory group

    void give_back(task_part& part) {
        large_.give_back(part.hold);
        part.hold = 0;
    }
    void begin(worker_id w, task& t) noexcept {
        worker_groups_.begins(w, t);
        auto& part = t.data<task_part>();
        if (is_large(part) && part.hold == 0) // the gate has handed it to `w`
            part.hold = large_.enter(w, level_of(part));
    }
    void stop(worker_id w, task& t) {
        if (is_flat_) return;
        worker_groups_.leaves(w, t, large_.some_wait());
        give_back(t.data<task_part>());
    }

    void open(int level, int i) {
        if (shared_at(level, i).open.add(1) == 0)
            context_->wake(worker_groups_.at(level, i).members); // victims() has changed
    }
    void close(const group_part& its, bool owner_is_gone) {
        if (its.is_last) shared_at(its.level, its.at).open.add(-1);
        if (owner_is_gone) large_.give_back(its.saved.hold);
    }
    /// The level of the memory group over `w` whose workers share what fits it; 0: none between.
    int sharing_level(worker_id w) noexcept {
        for (int l = leaf_ - 1; l > 0; --l)
            if (shared_at(l, groups().of_worker(l, w)).open.load_relaxed() > 0) return l;
        return 0;
    }

    // ---- where tasks are kept. Once a task is in a list it may run, and end.

    placement put_small(worker_id w, task& t, const task_part& part, bool behind) {
        const int under = part.under, group = part.group;
        if (!worker_groups_.has(under, group, w)) {
            shared_at(under, group).arrivals.push_back(&t); // I2
            return worker_groups_.for_any_of(under, group, place_of(under, group));
        }
        auto& own = worker_groups_.alone(w);
        (behind ? own.yielded : own.tasks).push_back(&t);
        return worker_groups_.for_any_of(under, group, w);
    }
    placement put_large(worker_id w, task& t, const task_part& part, int level, bool behind) {
        const int under = part.under, group = part.group;
        const int i = worker_groups_.has(under, group, w)
                          ? groups().of_worker(level, w)
                          : groups().descendants(under, {group, group + 1}, level).first;
        large_.put(t, level, i, behind, under, group);
        return {place_of(level, i), {}};
    }

    // ---- what a worker takes

    decision choose(worker_id w, memory_worker_groups::worker_part& me, bool only_yields, bool last_look) {
        auto& own = worker_groups_.alone(w);
        const turn now = me.turns.begin();
        if (now == turn::odd_fair)
            if (task* const t = own.yielded.try_pop_front()) return {t, w};
        if (now != turn::usual)
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (task* const t = own.tasks.try_pop_back()) return {t, w};
        for (int l = leaf_ - 1; l > 0; --l) {
            const int here = groups().of_worker(l, w);
            if (task* const t = shared_at(l, here).arrivals.try_pop_front()) return {t, place_of(l, here)};
            if (task* const t = take_large(w, l, here, only_yields || helps(l, w, false)))
                return {t, place_of(l, here)};
        }
        if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (!only_yields || last_look)
            if (task* const t = own.yielded.try_pop_front()) return {t, w};
        return last_look ? look_everywhere(w, only_yields) : look_once(w, me.looks++, only_yields);
    }

    task* take_large(worker_id w, int level, int from, bool at_once) {
        const auto got = large_.take(w, level, from, at_once, [&](const task& x) { return is_for(x, w); });
        if (got.t != nullptr) got.t->data<task_part>().hold = got.hold;
        return got.t;
    }
    bool helps(int level, worker_id w, bool last_look) noexcept { // I1
        return worker_groups_.may_help(w, last_look) && worker_groups_.is_idle(level, w);
    }
    bool is_for(const task& x, worker_id w) const noexcept {
        const auto& part = x.data<task_part>();
        return worker_groups_.has(part.under, part.group, w);
    }

    /// A task of the last level, of another worker.
    task* take_small(worker_id w, worker_id victim) noexcept {
        const auto reaches = [&](const task& x) { return is_for(x, w); };
        auto& its = worker_groups_.alone(victim);
        if (task* const t = its.tasks.pop_first_if(reaches)) return t;
        return its.yielded.pop_first_if(reaches);
    }

    /// Three of four looks are for what the workers of a memory group share; of the others, half are for
    /// large tasks, if some wait.
    decision look_once(worker_id w, unsigned looks, bool only_yields) {
        if (const int level = sharing_level(w); level > 0 && looks % 4 != 0) return look_beside(w, level);
        if (large_.some_wait() && looks % 8 < 4) {
            for (int l = leaf_ - 1; l > 0; --l) {
                const int from = another(w, groups().groups(l), groups().of_worker(l, w));
                if (from < 0 || !large_.some_wait_at(l, from)) continue;
                return {take_large(w, l, from, only_yields || helps(l, w, false)), place_of(l, from)};
            }
        }
        return places_.look_at_random(w, lazy_ && shared_at(0, 0).open.load_relaxed() > 0);
    }
    /// At a random other worker under the same memory group.
    decision look_beside(worker_id w, int level) {
        const int here = groups().of_worker(level, w);
        const auto seats = groups().descendants(level, {here, here + 1}, leaf_);
        const int seat = another(w, seats.last - seats.first, groups().of_worker(leaf_, w) - seats.first);
        if (seat < 0) return {};
        const worker_id victim = groups().head(leaf_, seats.first + seat);
        task* const t = take_small(w, victim);
        return {t, victim, t == nullptr && lazy_};
    }
    /// Uniform in [0, count) but `self`; -1 if there is no other.
    int another(worker_id w, int count, int self) {
        if (count < 2) return -1;
        const auto drawn = static_cast<int>(context_->random(w, static_cast<std::uint32_t>(count - 1)));
        return drawn < self ? drawn : drawn + 1;
    }

    decision look_everywhere(worker_id w, bool only_yields) {
        for (worker_id v = 0; v < context_->all().last; ++v)
            if (task* const t = v == w ? nullptr : take_small(w, v)) return {t, v};
        for (int l = leaf_ - 1; l > 0; --l) {
            const int count = groups().groups(l), here = groups().of_worker(l, w);
            for (int i = 0; i < count; ++i) {
                const int from = (here + i) % count;
                const bool at_once = only_yields || helps(l, w, true);
                if (task* const t = take_large(w, l, from, at_once)) return {t, place_of(l, from)};
            }
        }
        return places_.look_everywhere(w, places_.random_victim(w));
    }

    const bool lazy_;
    bool is_flat_ = true; // no levels between: random stealing
    policy_context* context_ = nullptr;
    places places_; // of roots and free tasks
    memory_worker_groups worker_groups_;
    large_tasks large_;
    int leaf_ = 0;
    std::unique_ptr<shared_part[]> shared_;
};

} // namespace

extern constinit const policy_entry ml_steal_entry{
    .name = "ml-steal",
    .summary = "random stealing at each level of the caches, one task at a time under a cache",
    .source = "Shiina, master's thesis, University of Tokyo 2021, 5.3.1",
    .wants = "the bytes that a group touches",
    .helps = "data larger than the last-level caches, used again in each part, and no work to be told",
    .knobs = ml_steal_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<multi_level_stealing>(values.is("zone", "lazy"));
    },
};

} // namespace weft::policies
