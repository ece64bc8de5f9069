#include "policy/parts/fair_turns.hpp"
#include "policy/parts/headed_groups.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/worker_groups.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <cstdint>
#include <memory>

/// Hierarchical work stealing. Each group of workers has a leader and slaves. The leader runs the large tasks
/// and exchanges them with other leaders. The slaves steal the small tasks from each other.
///
///   J.-N. Quintin, F. Wagner: Hierarchical work-stealing. Euro-Par 2010; Q. Chen, M. Guo: Task Scheduling
///   for Multi-core and Parallel Architectures. Springer 2017, 3.2.4.
///
/// A task is global if its level is below `l`, and local otherwise. A local child of a global task is a slave
/// task. A slave task and all tasks below it are a block. A block stays in the group of the leader that
/// spawned it. So a program that halves its work has 2^l - 1 global tasks and 2^l blocks.
///
///     group    a leader, which is the first worker of the group, and slaves: neighbours in one socket
///     global   one for each group: global tasks that have not begun. Only leaders take from it: the group's
///              own leader takes the youngest task, other leaders take the oldest
///     resumed  one for each group: global tasks that are resumed after a wait
///     local    one for each group, oldest first: slave tasks, and tasks of the group that came from outside
///     deque    one for each worker: local tasks of its group
///     open     one for all: tasks that have no place in the hierarchy
///
/// A slave starves if it has found nothing `attempts` times in a row, or is about to sleep. The leader begins
/// a new global task, its own or another leader's, only while more slaves starve than slave tasks wait.
///
/// I1. A local task runs in the group of its block.
/// I2. A slave takes no global task. With `leader=feeds`, a leader that has slaves takes no local task.
/// I3. A leader keeps back only tasks that have not begun, and not for ever. If no worker can run a task
///     because tasks that are kept back must run first, then slaves starve or workers yield. A worker that
///     has yielded `yields_to_look` times (fair_turns.hpp) counts as starving until it gets another task. This
///     does not hold for workers that are away in a team, since the policy is not told of them. So a team must
///     not wait for global tasks from outside.
/// I4. A slave that begins to starve wakes its leader, and a new global task wakes every leader. The leader may
///     find then that as many slave tasks wait as slaves starve, and sleep. A slave that does not starve, or that
///     only sees yields, may take such a task, and fewer wait than slaves starve. So each starving slave that is
///     about to sleep or that only sees yields looks whether the leader may begin a task, and wakes it.
/// I5. Shares of a moldable task may spin until the other shares have started, on all workers but one, and
///     it does not matter on which. So a task that begins in a team while the team has shares is open, and so
///     are the shares and all tasks below either: they are neither global nor local, and any worker of the
///     team takes them, whether or not a worker starves.
///
/// The book leaves two things open. The first is whether level l itself is global: here it is not. The second
/// is what a lack of work is: of the book's two ways, this is the second, in which the leader counts failed
/// attempts. A root is global for every `l`. A task of a graph is open until it begins. Then it is global if
/// a leader begins it, and a block if a slave does. A group is split if its workers are not neighbours by
/// rank.
namespace weft::policies {
namespace {

constexpr knob hws_knobs[] = {
    {"l", "3", "1..40", "tasks of lower levels are global; a root has level 0"},
    {"leader", "feeds", "feeds, helps", "helps: while its group has enough, a leader runs local tasks, too"},
    {"attempts", "4", "1..1000", "failed looks in a row after which a slave starves"},
};

class hierarchical_work_stealing final : public policy {
public:
    hierarchical_work_stealing(int limit, bool leaders_help, int attempts)
        : limit_(limit)
        , attempts_(attempts)
        , leaders_help_(leaders_help) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        on_.attach(groups_in_domains(context, domains(m, domain_kind::last_level_cache)), context);
        groups_ = std::make_unique<group_part[]>(static_cast<std::size_t>(on_.count()));
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        return {.task_bytes = sizeof(task_part), .demotable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const bool yields = goes_behind(reason);
        const int block = t.data<task_part>().block;
        if (block == open) return keep_open(w, t, reason, yields);
        if (block > 0) return keep_local(w, t, reason, block - 1, yields); // I1
        const int group = on_.of(w);
        group_part& g = at(group);
        if (reason == ready_reason::root) {
            roots_.push_back(&t);
        } else if (yields) {
            g.yields.add(1);
            g.behind.push_back(&t);
        } else if (reason == ready_reason::released || reason == ready_reason::granted) {
            return keep_open(w, t, reason, false);
        } else if (reason == ready_reason::spawned) {
            g.global.push_back(&t);
        } else {
            g.resumed.push_front(&t);
        }
        on_.wake_other_heads(group); // I4
        return {reason == ready_reason::root ? root_place() : place_of(group, global_place),
                on_.head_range(group)};
    }

    decision next(worker_id w, bool last_look) override {
        worker_part& me = mine(w);
        const int group = on_.of(w);
        const bool leads = on_.is_head(w);
        decision got;
        if (leads) got = next_of_leader(w, group, last_look);
        if (got.t == nullptr && runs_local(w)) got = next_local(w, group, last_look); // I2
        if (got.t != nullptr) {
            if (got.t->fresh()) me.turns.looked_elsewhere(); // a new task is as good
            if (!me.turns.sees_only_yields()) feed(me, group);
        } else if (!leads && (++me.failures >= attempts_ || last_look)) {
            starve(me, group);
        }
        return got;
    }

    workers victims(worker_id w) override { return runs_local(w) ? who_run_local(on_.of(w)) : workers{}; }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        if (parent.data<task_part>().block != 0) {
            child.data<task_part>() = parent.data<task_part>();
            return spawn_order::lazy;
        }
        if (child.level() >= limit_) child.data<task_part>().block = on_.of(w) + 1;
        return spawn_order::parent_first;
    }

    /// Shares begin without ready(). A task that a slave begins is a block, also if it comes from the gate.
    void started(worker_id w, task& t) override {
        int& block = t.data<task_part>().block;
        if (block != 0) return;
        const bool is_share = t.width() > 1;
        if (is_share) shares_.add(1);
        if (is_share || shares_.load_relaxed() > 0)
            block = open;
        else if (!on_.is_head(w))
            block = on_.of(w) + 1;
    }

    void finished(worker_id, task& t, const usage& used) override {
        if (t.width() > 1 && !used.cancelled) shares_.add(-1);
    }

private:
    enum place_kind : std::uint8_t { global_place, local_place };

    static constexpr std::int32_t open = -1;
    struct task_part {
        std::int32_t block; ///< group + 1 of a local task; 0: global, or not begun yet
    };
    struct alignas(queue::k_cache_line_bytes) group_part {
        queue::locked_list<task> global;  // oldest in front
        queue::locked_list<task> resumed; // youngest in front
        queue::locked_list<task> behind;  // global tasks that yielded
        queue::locked_list<task> local;   // oldest in front
        queue::cell<int> starving;        // number of slaves that starve
        // Of tasks that are global or have not begun, since the leader began a global task or looked at other
        // leaders because of them. Not a fair_turns, which belongs to one worker: a slave that has no stack to
        // begin a task puts it back as yielded.
        queue::cell<unsigned> yields;
    };
    struct alignas(queue::k_cache_line_bytes) worker_part { // used by the worker alone
        fair_turns turns; // its yields: of tasks that are not global, since it began a task
        int failures = 0;
        bool starves = false;
    };

    worker_part& mine(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    group_part& at(int group) noexcept { return groups_[static_cast<std::size_t>(group)]; }
    bool runs_local(worker_id w) const noexcept {
        return !on_.is_head(w) || leaders_help_ || runs_alone(on_.of(w));
    }
    workers who_run_local(int group) const noexcept {
        const workers all = on_.members(group);
        return {runs_local(all.first) ? all.first : all.first + 1, all.last};
    }
    /// The group has no slaves, so its leader need not wait for one to starve.
    bool runs_alone(int group) const noexcept { return on_.members(group).size() == 1; }
    place_id root_place() const noexcept { return context_->all().size(); }
    place_id place_of(int group, place_kind kind) const noexcept {
        return root_place() + 1 + 2 * group + kind;
    }

    placement keep_local(worker_id w, task& t, ready_reason reason, int group, bool yields) {
        if (yields) mine(w).turns.yielded();
        if (on_.of(w) == group && runs_local(w) && reason != ready_reason::spawned &&
            reason != ready_reason::released) {
            static_cast<void>(places_.put(w, t, reason));
            return {w, who_run_local(group)};
        }
        at(group).local.push_back(&t);
        return {place_of(group, local_place), who_run_local(group)};
    }

    placement keep_open(worker_id w, task& t, ready_reason reason, bool yields) {
        if (yields) mine(w).turns.yielded();
        if (yields || reason == ready_reason::released || reason == ready_reason::granted)
            open_.push_back(&t);
        else
            open_.push_front(&t);
        return {root_place(), context_->all()};
    }

    // ---- leaders

    /// More slaves starve than slave tasks wait.
    bool wants_work(int group) noexcept {
        group_part& g = at(group);
        return g.starving.load_relaxed() > static_cast<int>(g.local.size());
    }

    decision next_of_leader(worker_id w, int group, bool last_look) {
        group_part& g = at(group);
        const auto from = place_of(group, global_place);
        const bool looks_on = g.yields.load_relaxed() >= fair_turns::yields_to_look;
        if (const turn now = mine(w).turns.begin(); now != turn::usual) {
            const bool roots_first = now == turn::odd_fair;
            if (task* const t = roots_first ? roots_.try_pop_front() : g.behind.try_pop_front())
                return {t, roots_first ? root_place() : from};
            if (task* const t = roots_first ? g.behind.try_pop_front() : roots_.try_pop_front())
                return {t, roots_first ? from : root_place()};
        }
        if (task* const t = g.resumed.try_pop_front()) return {t, from};
        const auto begins = [&] { return looks_on || runs_alone(group) || wants_work(group); };
        if (begins())
            if (task* const t = g.global.try_pop_back()) return taken(g, t, from);
        if (!looks_on || last_look) {
            if (task* const t = roots_.try_pop_front()) return {t, root_place()};
            if (task* const t = open_.try_pop_front()) return {t, root_place()};
            if (task* const t = g.behind.try_pop_front()) return {t, from};
        }
        if (looks_on) g.yields.store_relaxed(0);
        return look_at_leaders(w, group, last_look, looks_on);
    }

    /// Takes from another leader: a task that has begun, or, if this group needs work, one that has not.
    decision look_at_leaders(worker_id w, int group, bool last_look, bool looks_on) {
        if (on_.count() < 2) return {};
        const auto look = [&](int other) -> task* {
            group_part& o = at(other);
            if (task* const t = o.resumed.try_pop_front()) return t;
            if (looks_on || runs_alone(group) || wants_work(group))
                if (task* const t = o.global.try_pop_front()) return t;
            return o.behind.try_pop_front();
        };
        const int first = on_.random_other(w);
        if (!last_look) return {look(first), place_of(first, global_place)};
        for (int i = 0; i < on_.count(); ++i) {
            const int other = (first + i) % on_.count();
            if (other == group) continue;
            if (task* const t = look(other)) return {t, place_of(other, global_place)};
        }
        return {};
    }

    static decision taken(group_part& g, task* t, place_id from) noexcept {
        g.yields.store_relaxed(0);
        return {t, from};
    }

    // ---- workers that run local tasks

    decision next_local(worker_id w, int group, bool last_look) {
        worker_part& me = mine(w);
        group_part& g = at(group);
        const auto local = [&]() -> decision {
            if (task* const t = g.local.try_pop_front()) return {t, place_of(group, local_place)};
            task* const t = on_.is_head(w) ? nullptr : open_.try_pop_front();
            return {t, root_place()};
        };
        const bool only_yields = me.turns.sees_only_yields();
        if (only_yields) starve(me, group); // I3
        if (only_yields || me.turns.begin() != turn::usual)
            if (const decision got = local(); got.t != nullptr) return got;
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        if (const decision got = local(); got.t != nullptr) return got;
        const workers others = who_run_local(group);
        if (others.size() < 2) return {};
        const worker_id victim = random_other_in(*context_, others, w);
        if (!last_look) {
            const places::look_result found = places_.look(victim);
            return {found.t, victim, found.t == nullptr && !found.lost};
        }
        for (worker_id v = others.first; v < others.last; ++v)
            if (v != w)
                if (task* const t = places_.look_hard(v)) return {t, v};
        return {};
    }

    void starve(worker_part& me, int group) {
        if (me.starves && !(wants_work(group) && global_tasks_wait())) return;
        if (!me.starves) at(group).starving.add(1);
        me.starves = true;
        on_.wake_head(group); // I4
    }
    bool global_tasks_wait() const noexcept {
        for (int group = 0; group < on_.count(); ++group)
            if (groups_[static_cast<std::size_t>(group)].global.size() > 0) return true;
        return false;
    }
    void feed(worker_part& me, int group) noexcept {
        me.failures = 0;
        if (!me.starves) return;
        me.starves = false;
        at(group).starving.add(-1);
    }

    const int limit_, attempts_;
    const bool leaders_help_;
    policy_context* context_ = nullptr;
    headed_groups on_; // the head of a group is its leader
    places places_;    // of local tasks; no roots come here
    std::unique_ptr<worker_part[]> mine_;
    std::unique_ptr<group_part[]> groups_;
    queue::locked_list<task> roots_;
    queue::locked_list<task> open_; // also graph tasks that have not begun, and tasks given back by the gate
    queue::cell<int> shares_;       // number of shares that have begun and not ended (I5)
};

} // namespace

extern constinit const policy_entry hws_entry{
    .name = "hws",
    .summary = "a leader in each socket runs and steals the large tasks, slaves the small ones",
    .source = "Quintin & Wagner, Euro-Par 2010; Chen & Guo 2017, 3.2.4",
    .helps = "machines of several sockets and many cores, programs that divide and conquer: few steals "
             "between sockets, "
             "each of much work",
    .knobs = hws_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<hierarchical_work_stealing>(static_cast<int>(values.integer("l")),
                                                            values.is("leader", "helps"),
                                                            static_cast<int>(values.integer("attempts")));
    },
};

} // namespace weft::policies
