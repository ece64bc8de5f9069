#include "policy/parts/memory_crews.hpp"
#include "policy/seam/registry.hpp"

#include "queue/spin_lock.hpp"

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
/// is of a level, and the memory groups of that level are what the workers are elsewhere:
///
///     level 0       roots, while none of their groups is open
///     between       large tasks: child-first, stolen at random, the oldest first, by other memory groups of
///                   the level. A memory group runs one at a time, by any of its workers, its leader
///     last level    what fits: stolen at random by the workers under its memory group, and silent but for
///                   the children of the group that went there (a join that is silent has no group)
///
/// A group whose data fit takes its task to a deeper level, below the memory group that runs it, until it
/// ends; who finishes its last child goes on with the task, and is the leader from then on.
///
/// Resolved where the thesis is silent:
/// - Memory groups are skipped if the data fit all groups of the next level below together, as in ml-adws.
/// - The main memory is no cache: several roots may be open at a time.
/// - Tasks of graphs, and children in the group of another task, are *free*: of the last level, below the
///   main memory, so that everybody may steal them. So are the groups of a root that fit all caches together.
///
/// Invariants:
/// I1. A memory group between has at most one large task that runs or has a group open below (`strands`), but
///     for two kinds: a second root may enter where it is; and if none of its workers runs anything, or one
///     sees only tasks that yield, another one is let in: what is kept back may be what they wait for.
/// I2. Tasks of the last level run under the memory group that they are bound to.
/// I3. The bytes of a task of the last level are not written after its start, but in group hooks: silent
///     descendants copy them. So such a task holds no memory group; its group does.
/// I4. Who gives back a memory group wakes its workers, if there is a large task anywhere; who offers a large
///     task wakes all that may ever run it.
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
        crews_.attach(m, context);
        leaf_ = groups().leaf_level();
        is_flat_ = leaf_ < 2 || context.all().size() < 2;
        inner_ = std::make_unique<inner[]>(static_cast<std::size_t>(crews_.count()));
        return {.task_bytes = sizeof(task_part),
                .group_bytes = sizeof(group_part),
                .lazy = is_flat_ && lazy_,
                .demotable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (is_flat_) return places_.put(w, t, reason);
        auto& part = t.data<task_part>();
        if (crews_.of(w).runs == &t) crews_.stops(w);
        if (reason == ready_reason::root) part.above = static_cast<std::int16_t>(leaf_);
        if (reason == ready_reason::exposed && t.fresh())
            part.is_counted = false; // a copy, that nothing copies yet
        give_back(part);
        const bool behind = crews_.goes_behind(w, reason);
        const int level = level_of(part);
        if (level == 0 || is_free(part)) return places_.put(w, t, reason);
        return level == leaf_ ? put_small(w, t, part, behind) : put_large(w, t, part, level, behind);
    }

    decision next(worker_id w, bool last_look) override {
        if (is_flat_) return next_at_random(w, last_look);
        crews_.stops(w);
        const decision got = choose(w, crews_.of(w), crews_.sees_only_yields(w), last_look);
        crews_.looked(w, got.t);
        return got;
    }

    workers victims(worker_id w) override {
        if (is_flat_ || at(0, 0).open.load_relaxed() > 0) return context_->all();
        for (int l = leaf_ - 1; l > 0; --l)
            if (around(l, w).open.load_relaxed() > 0) return crews_.around(l, w).who;
        return {};
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        if (is_flat_) return below();
        auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        if (level_of(p) == leaf_) {
            c = p;
            c.is_counted = false;
            const bool is_own = child.parent_group() != nullptr && child.parent_group()->owner() == &parent;
            if (lazy_ && !(is_own && child.parent_group()->data<group_part>().opened_in == this))
                return spawn_order::lazy;
            crews_.runs(w, child);
            return spawn_order::child_first;
        }
        if (child.parent_group() == nullptr || child.parent_group()->owner() != &parent)
            return spawn_order::parent_first; // free
        c = p;                                // and the memory group goes on with the child
        p.holds = 0;
        crews_.runs(w, child);
        return spawn_order::child_first;
    }

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
        part.holds = 0; // now the group holds what its task did
        if (to == leaf_) {
            opens(level, here);
        } else {
            enter(w, part, to);
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
        if (its.is_foreign || g.owner() != &t) return its.opened_in->closes(its, true);
        auto& part = t.data<task_part>();
        give_back(part);
        closes(its, false);
        const bool is_counted = part.is_counted;
        part = its.saved;
        part.is_counted = is_counted;
    }

    void started(worker_id w, task& t) override {
        if (is_flat_) return;
        auto& part = t.data<task_part>();
        goes(w, t);
        if (!is_free(part)) return;
        part.is_counted = true;
        opens(0, 0);
    }
    void resumed(worker_id w, task& t) override {
        if (!is_flat_) goes(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason) override { stops(w, t); }
    void finished(worker_id w, task& t, const usage&) override {
        stops(w, t);
        if (t.data<task_part>().is_counted) at(0, 0).open.add(-1);
    }

private:
    struct task_part {      // zero: free
        std::int16_t above; // levels above the last one
        std::int16_t under; // level of the memory group below which it was spawned,
        std::int32_t group; // and which one it is
        std::int32_t holds; // memory group of the own level, from 1 on; 0: none, and always in the last one
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
    struct alignas(queue::k_cache_line_bytes) inner { // of a memory group
        queue::spin_lock<> lock;                      // of taking a large task, and of strands
        queue::locked_list<task> arrivals; // of the last level, bound to it and made ready elsewhere
        queue::cell<int> strands;          // large tasks that run, or have a group open below
        queue::cell<int> open; // groups below, on the last level; of the main memory free tasks, too
    };

    const memory_groups& groups() const noexcept { return crews_.groups(); }
    inner& at(int level, int i) noexcept { return inner_[static_cast<std::size_t>(crews_.number(level, i))]; }
    inner& around(int level, worker_id w) noexcept { return at(level, groups().of_worker(level, w)); }
    int level_of(const task_part& p) const noexcept { return leaf_ - p.above; }
    bool is_free(const task_part& p) const noexcept { return p.above == 0 && p.under == 0; }
    bool is_large(const task_part& p) const noexcept { return p.above > 0 && p.above < leaf_; }
    spawn_order below() const noexcept { return lazy_ ? spawn_order::lazy : spawn_order::child_first; }
    place_id place_of(int level, int i) const noexcept {
        return places_.root_place() + 1 + crews_.number(level, i);
    }

    // ---- who holds a memory group

    void enter(worker_id w, task_part& part, int level) noexcept {
        const int here = groups().of_worker(level, w);
        inner& in = at(level, here);
        in.lock.lock();
        in.strands.add(1);
        in.lock.unlock();
        part.holds = crews_.number(level, here) + 1;
    }
    void give_back(task_part& part) {
        if (part.holds == 0) return;
        give_back(part.holds);
        part.holds = 0;
    }
    void give_back(int held) {
        inner& in = inner_[static_cast<std::size_t>(held - 1)];
        in.lock.lock();
        in.strands.add(-1);
        in.lock.unlock();
        // Whoever has looked in vain since a task was put has had the lock before, so the task is counted.
        if (large_.load_relaxed() > 0) context_->wake(crews_.by_number(held - 1).who); // I4
    }

    void goes(worker_id w, task& t) noexcept {
        crews_.begins(w, t);
        auto& part = t.data<task_part>();
        if (is_large(part) && part.holds == 0) enter(w, part, level_of(part)); // handed to it by the gate
    }
    void stops(worker_id w, task& t) {
        if (is_flat_) return;
        crews_.leaves(w, t, large_.load_relaxed() > 0);
        give_back(t.data<task_part>());
    }

    void opens(int level, int i) {
        if (at(level, i).open.add(1) == 0) context_->wake(crews_.at(level, i).who); // victims() has changed
    }
    void closes(const group_part& its, bool owner_is_gone) {
        if (its.is_last) at(its.level, its.at).open.add(-1);
        if (owner_is_gone && its.saved.holds != 0) give_back(its.saved.holds);
    }

    // ---- where tasks are kept

    placement put_small(worker_id w, task& t, const task_part& part, bool behind) {
        const int under = part.under, group = part.group; // once it is in a list it may run, and end
        if (!crews_.has(under, group, w)) {
            at(under, group).arrivals.push_back(&t);
            return crews_.for_any_of(under, group, place_of(under, group));
        }
        memory_crews::crew& own = crews_.alone(w);
        (behind ? own.behind : own.tasks).push_back(&t);
        return crews_.for_any_of(under, group, w);
    }

    placement put_large(worker_id w, task& t, const task_part& part, int level, bool behind) {
        const int under = part.under, group = part.group;
        const int i = crews_.has(under, group, w)
                          ? groups().of_worker(level, w)
                          : groups().descendants(under, {group, group + 1}, level).first;
        memory_crews::crew& c = crews_.at(level, i);
        large_.add(1);
        (behind ? c.behind : c.tasks).push_back(&t);
        context_->wake(crews_.at(under, group).who); // I4: which of them can take it now is not known
        return {place_of(level, i), {}};
    }

    // ---- what a worker takes

    decision choose(worker_id w, memory_crews::worker_part& me, bool only_yields, bool last_look) {
        memory_crews::crew& own = crews_.alone(w);
        if (++me.turns % places::turns_to_fair == 0) {
            if (me.turns / places::turns_to_fair % 2 == 1)
                if (task* const t = own.behind.try_pop_front()) return {t, w};
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        }
        if (task* const t = own.tasks.try_pop_back()) return {t, w};
        for (int l = leaf_ - 1; l > 0; --l) {
            const int here = groups().of_worker(l, w);
            if (task* const t = at(l, here).arrivals.try_pop_front()) return {t, place_of(l, here)};
            if (task* const t = take_large(w, l, here, only_yields || helps(l, w, false)))
                return {t, place_of(l, here)};
        }
        if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (!only_yields || last_look)
            if (task* const t = own.behind.try_pop_front()) return {t, w};
        return last_look ? look_everywhere(w, only_yields) : look_once(w, me, only_yields);
    }

    /// A large task for the memory group of `w`, out of the lists of one of the level; the youngest of the
    /// own one, the oldest of another.
    task* take_large(worker_id w, int level, int from, bool at_once) {
        memory_crews::crew& c = crews_.at(level, from);
        if (c.tasks.empty() && c.behind.empty()) return nullptr;
        const int here = groups().of_worker(level, w);
        inner& in = at(level, here);
        in.lock.lock();
        task* t = nullptr;
        if (at_once || in.strands.load_relaxed() == 0) {
            const auto reaches = [&](const task& x) { return is_for(x, w); };
            t = from == here ? c.tasks.try_pop_back() : c.tasks.pop_first_if(reaches);
            if (t == nullptr) t = c.behind.pop_first_if(reaches);
            if (t != nullptr) in.strands.add(1);
        }
        in.lock.unlock();
        if (t == nullptr) return nullptr;
        t->data<task_part>().holds = crews_.number(level, here) + 1;
        large_.add(-1);
        return t;
    }
    bool helps(int level, worker_id w, bool last_look) noexcept { // I1
        return crews_.may_help(w, last_look) && crews_.is_idle(level, w);
    }
    bool is_for(const task& x, worker_id w) const noexcept {
        const auto& part = const_cast<task&>(x).data<task_part>();
        return crews_.has(part.under, part.group, w);
    }

    /// One of the last level, of another worker.
    task* take_small(worker_id w, worker_id victim) noexcept {
        const auto reaches = [&](const task& x) { return is_for(x, w); };
        memory_crews::crew& c = crews_.alone(victim);
        if (task* const t = c.tasks.pop_first_if(reaches)) return t;
        return c.behind.pop_first_if(reaches);
    }

    decision look_once(worker_id w, memory_crews::worker_part& me, bool only_yields) {
        const unsigned turn = me.looks++;
        int bound = 0; // the memory group whose workers share what fits it
        for (int l = leaf_ - 1; l > 0 && bound == 0; --l)
            if (around(l, w).open.load_relaxed() > 0) bound = l;
        if (bound > 0 && turn % 4 != 0) {
            const int here = groups().of_worker(bound, w);
            const auto seats = groups().descendants(bound, {here, here + 1}, leaf_);
            const int seat = another(w, seats.last - seats.first, groups().of_worker(leaf_, w) - seats.first);
            if (seat < 0) return {};
            const worker_id victim = groups().head(leaf_, seats.first + seat);
            task* const t = take_small(w, victim);
            return {t, victim, t == nullptr && lazy_};
        }
        if (large_.load_relaxed() > 0 && turn % 8 < 4) {
            for (int l = leaf_ - 1; l > 0; --l) {
                const int from = another(w, groups().groups(l), groups().of_worker(l, w));
                if (from < 0 || (crews_.at(l, from).tasks.empty() && crews_.at(l, from).behind.empty()))
                    continue;
                return {take_large(w, l, from, only_yields || helps(l, w, false)), place_of(l, from)};
            }
        }
        const worker_id victim = places_.random_victim(w);
        const places::look_result found = places_.look(victim);
        const bool asks = lazy_ && at(0, 0).open.load_relaxed() > 0;
        return {found.t, victim, found.t == nullptr && !found.lost && asks};
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

    decision next_at_random(worker_id w, bool last_look) {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const worker_id victim = places_.random_victim(w);
        if (victim < 0) return {};
        if (last_look) return places_.look_everywhere(w, victim);
        const places::look_result found = places_.look(victim);
        return {found.t, victim, found.t == nullptr && !found.lost && lazy_};
    }

    const bool lazy_;
    bool is_flat_ = true; // no levels between: random stealing
    policy_context* context_ = nullptr;
    places places_; // of roots and free tasks
    memory_crews crews_;
    int leaf_ = 0;
    std::unique_ptr<inner[]> inner_;
    queue::cell<int> large_; // large tasks in lists
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
