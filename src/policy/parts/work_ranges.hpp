#pragma once

#include "policy/parts/learned_work.hpp"
#include "policy/parts/memory_groups.hpp"
#include "policy/parts/places.hpp"

#include "queue/cell.hpp"
#include "queue/list_hook.hpp"
#include "queue/locked_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

/// Almost deterministic work stealing, on one level or on several: what `adws` and `ml-adws` are.
///
///   S. Shiina: Almost deterministic work stealing. Master's thesis, University of Tokyo, 2021. Chapter 4
///   (one level: Algorithms 4.1 to 4.3) and chapter 5 (several: Algorithms 5.2 and 5.3).
///
/// Members are the memory groups of one level; on one level they are the workers. A task has a range [from,
/// to] on the line of members, member i being [i, i + 1]. Its children get pieces of it by their work, each
/// the upper end of what is left, so the map from tasks to members follows from the hints alone. A task is a
/// *search root* if its range crosses an integer: floor(from) != floor(to). It is then owned by member
/// floor(from), goes there by the mailbox, is never stolen, and comes back there after each of its groups.
/// Any other task is the member's own business: on the last level its whole subtree is silent, and thieves
/// ask for its hidden frames.
///
/// Stealing is bound to a range, too. Each group of a search root is a node of the distribution tree, active
/// from when one of its search roots has ended until the group ends. A member steals within the topmost
/// active node over its current one, so that the range grows from the bottom up, and only where work was
/// wrong.
///
/// Resolved where the thesis is silent or damaged:
/// - both ends are floored, so that [3, 4] is a search root of member 3: this is what gives every member a
///   current node. A cut beyond the last member moves to just below it.
/// - A range that ends on an integer ends before that member: the one below lies wholly inside.
/// - Tasks that do not cross are not divided, wherever they run: else a stolen task would send its children
///   back, and a queue had two members that migrate to it at the same time.
/// - Who receives a search root adopts its node. One that ends without having opened a group hands its node
/// to
///   the members in the middle of its range, which nobody else would tell.
/// - The mailbox is a list: blocked search roots come back to it, too.
/// - One root at a time has the range of all (the thesis has one only): the *anchored* one. Other roots,
///   tasks of graphs, and children added to the group of another task have no range. They are stolen at
///   random by everybody, as under `steal`.
///
/// On several levels, a group whose data fit goes to a deeper level: its range is then that of the members
/// below. As long as it is open, the memory groups that it covers have the deeper level in `sub`, and their
/// workers serve that one, so one root task at a time runs under a cache. But if a task is blocked, or a
/// worker only yields, what waits at other levels is served as well, since it may be what they wait for.
///
/// Invariants:
/// I1. A search root runs on the head of floor(from) only, and `from` never changes within a group.
/// I2. A queue holds tasks that do not cross. A mailbox is read by the head of its member alone.
/// I3. The part of a task with silent descendants is not written: they copy it. (All writes are in hooks of
///     the reported zone, by the worker that runs the task.)
/// I4. Nodes are never given back, and their words are cells. A stale node gives a wrong range, nothing else.
namespace weft {

struct work_range_options {
    bool steal = true;
    bool learned = false;
    bool lazy = true; ///< below one worker nothing is reported
    bool multi_level = false;
};

class work_ranges : public policy {
public:
    explicit work_ranges(work_range_options options) : options_(options) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        groups_.attach(m, context, options_.multi_level);
        leaf_ = groups_.leaf_level();
        int count = 0;
        for (int l = 0; l <= leaf_; ++l) {
            first_member_[l] = count;
            count += groups_.groups(l);
        }
        members_ = std::make_unique<member[]>(static_cast<std::size_t>(count));
        nodes_ = std::make_unique<tree_node[]>(static_cast<std::size_t>(count) * nodes_per_member);
        for (int l = 0; l <= leaf_; ++l) {
            for (int i = 0; i < groups_.groups(l); ++i) {
                const int number = first_member_[l] + i;
                of(l, i).head = groups_.head(l, i);
                for (int n = 0; n < nodes_per_member; ++n) {
                    tree_node& node = nodes_[static_cast<std::size_t>(number * nodes_per_member + n)];
                    node.home = &of(l, i);
                    of(l, i).free_nodes.push_back(&node);
                }
            }
        }
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(groups_.workers_in_all()));
        if (options_.learned) learned_.attach();
        return {.task_bytes = sizeof(task_part),
                .group_bytes = sizeof(group_part),
                .own_usage = options_.learned,
                .demotable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        auto& part = t.data<task_part>();
        if (reason == ready_reason::unblocked) went_on();
        if ((reason == ready_reason::root || reason == ready_reason::released) && invites(t)) {
            part.flags |= flag_invited;
            return mail(of(0, 0), t);
        }
        if (!part.is(flag_known)) return places_.put(w, t, reason);
        if (reason == ready_reason::yielded || reason == ready_reason::preempted) {
            ++at(w).yields;
            at(w).behind.push_back(&t);
            return only(w);
        }
        // Once it is in a queue it may run, and end: nothing is read of it after that.
        const int owner = static_cast<int>(part.from), level = part.level;
        if (part.crosses() || part.is(flag_returns)) return mail(of(level, owner), t);
        if (reason == ready_reason::spawned) { // PASS
            member& to = of(level, owner);
            to.migrated.push_back(&t);
            if (const tree_node* const top = topmost(to, level, owner))
                wake(unpack(top->range.load_relaxed()));
            return only(to.head);
        }
        const int here = groups_.of_worker(level, w);
        const bool pushes = reason == ready_reason::continuation || reason == ready_reason::exposed;
        if (level != leaf_ && (!pushes || of(level, here).head != w)) {
            of(level, owner).local.push_front(&t);
            return only(of(level, owner).head);
        }
        member& m = of(level, here);
        const tree_node* const top = options_.steal ? topmost(m, level, here) : nullptr;
        if (reason == ready_reason::exposed && here != owner &&
            (top == nullptr || !unpack(top->range.load_relaxed()).contains(owner))) {
            // Asked for when it still might: it goes back, as the oldest.
            of(level, owner).local.push_back(&t);
            return only(of(level, owner).head);
        }
        (m.uses_migrated.load_relaxed() ? m.migrated : m.local).push_front(&t); // written by this worker
        if (top == nullptr) return only(w);
        return {w, heads(unpack(top->range.load_relaxed()))};
    }

    decision next(worker_id w, bool last_look) override {
        worker_part& mine = at(w);
        const decision got = choose(w, mine, last_look);
        // Roots are not sent to a first worker that is busy with something else.
        if (w == of(0, 0).head)
            first_is_busy_.store_relaxed(got.t != nullptr &&
                                         !got.t->data<task_part>().is(flag_known | flag_invited));
        return got;
    }

    workers victims(worker_id w) override {
        if (groups_.workers_in_all() < 2) return {};
        if (without_range_.load_relaxed() > 0) return context_->all();
        const int level = served(w), here = groups_.of_worker(level, w);
        if (!options_.steal || level != leaf_) return {};
        const tree_node* const top = topmost(of(level, here), level, here);
        return top == nullptr ? workers{} : heads(unpack(top->range.load_relaxed()));
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        if (groups_.workers_in_all() < 2 || !p.is(flag_known)) return spawn_order::lazy;
        const bool below = p.level == leaf_ && !p.crosses();
        auto& g = child.parent_group()->data<group_part>();
        if (!below && child.parent_group()->owner() != &parent)
            return spawn_order::parent_first; // without a range
        c = p;
        c.flags = flag_known;
        if (learned_.is_on()) {
            const bool by_itself = g.is_divided && child.index() < most_learned_children;
            c.place = by_itself ? learned_.below(g.place, child.hint().name, child.index()) : g.place;
            if (below && by_itself) learned_.begin(c.place);
        }
        if (below && options_.lazy) return spawn_order::lazy;
        const double share = below ? 0 : share_of_rest(g, parent, child);
        if (!p.crosses()) return spawn_order::child_first;
        // The last child of a join gets all that is left, and its parent goes on beside it.
        const double middle = child.last() ? p.from : divide(p.from, p.to, share, p.end);
        c.from = p.to = middle;
        return of(c.level, static_cast<int>(middle)).head == w &&
                       static_cast<int>(middle) == static_cast<int>(p.from)
                   ? spawn_order::child_first
                   : spawn_order::parent_first;
    }

    void group_begin(worker_id w, task& t, group& g) override {
        auto& part = t.data<task_part>();
        auto& its = g.data<group_part>();
        its = {};
        if (!part.is(flag_known) || groups_.workers_in_all() < 2) return;
        its.is_known = true;
        its.opened_in = this;
        its.saved = part;
        its.work_left = usable(g.hint().work);
        its.has_work = its.work_left > 0;
        if (learned_.is_on()) {
            its.place = part.place;
            its.is_divided = part.crosses() || part.level != leaf_;
            if (its.is_divided) {
                its.place = learned_.below(part.place, g.hint().name, -1);
                its.learned_left = learned_.begin(its.place);
            }
        }
        if (part.level != leaf_) go_deeper(w, t, g);
        if (!part.crosses()) return;
        member& owner = of(part.level, static_cast<int>(part.from));
        its.crosses = true;
        its.node = owner.free_nodes.try_pop_front();
        if (its.node == nullptr) return; // nested deeper than anybody does: the group around stands for it
        its.node->range.store_relaxed(pack(part));
        its.node->parent.store_relaxed(its.descends == 0 ? part.node : nullptr);
        part.node = its.node;
        part.flags |= flag_opened;
        owner.node.store_release(its.node); // pairs with topmost(): its words are written
    }

    after_wait group_wait(worker_id, task& t, group& g) override {
        auto& its = g.data<group_part>();
        auto& part = t.data<task_part>();
        if (!its.is_known) return after_wait::stay;
        if (g.owner() != &t || its.opened_in != this) { // a stranger waits: it may live longer than the owner
            its.is_foreign = true;
            return after_wait::stay;
        }
        if (part.crosses()) {
            hand_over(part);
            activate(part.node);
        }
        if (!its.crosses) return after_wait::stay;
        part.flags |= flag_returns;
        return after_wait::requeue; // return migration
    }

    void group_end(worker_id, task& t, group& g) override {
        auto& its = g.data<group_part>();
        if (!its.is_known) return;
        if (its.node != nullptr) {
            its.node->home->node.store_release(its.node->parent.load_relaxed()); // pairs with topmost()
            its.node->active.store_relaxed(false);
            its.node->home->free_nodes.push_front(its.node);
        }
        if (its.descends > 0) its.opened_in->comes_up(its);
        if (its.is_foreign) return;
        auto& part = t.data<task_part>();
        const auto flags =
            static_cast<std::uint8_t>(((part.flags & flag_opened) | its.saved.flags) & ~flag_returns);
        part = its.saved;
        part.flags = flags;
    }

    void started(worker_id w, task& t) override {
        auto& part = t.data<task_part>();
        if (part.is(flag_invited)) {
            part.flags = 0;
            task* nobody = nullptr;
            if (w == of(0, 0).head && anchored_.compare_exchange(nobody, &t)) { // its words guard nothing
                part.from = 0;
                part.to = .5; // crosses nothing: its groups go deeper
                part.end = 1;
                part.place = learned_.is_on() ? learned_work::root : 0;
                if (learned_.is_on()) learned_.begin(learned_work::root);
                part.flags = flag_known;
            }
        }
        if (part.is(flag_known) || groups_.workers_in_all() < 2) return;
        part.flags |= flag_counted;
        if (without_range_.add(1) == 0) context_->wake(context_->all()); // victims() has changed
    }

    void blocked(worker_id, task&, ready_reason reason) override {
        if (reason == ready_reason::unblocked) stalls();
    }

    void finished(worker_id, task& t, const usage& used) override {
        auto& part = t.data<task_part>();
        if (learned_.is_on()) learned_.add(part.place, used.self);
        if (anchored_.load_relaxed() == &t) anchored_.store_relaxed(nullptr); // guards nothing
        if (part.is(flag_counted)) without_range_.add(-1);
        if (part.is(flag_descended)) stalls(); // it has left a group to others, who may be kept back by it
        if (!part.is(flag_known) || !part.crosses()) return;
        if (!part.is(flag_opened)) hand_over(part);
        activate(part.node);
    }

private:
    struct member;

    struct tree_node { // of the distribution tree, 4.3.3
        queue::cell<std::uint64_t> range;
        queue::cell<tree_node*> parent;
        queue::cell<bool> active;
        member* home = nullptr; // fixed
        queue::list_hook queue_link{};
    };

    struct alignas(queue::k_cache_line_bytes) member {
        queue::locked_list<task> mailbox;         // in: anybody, out: the head
        queue::locked_list<task> local, migrated; // front: the head; back: PASS and TAKE, by others
        queue::locked_list<tree_node> free_nodes; // anybody
        queue::cell<bool> uses_migrated;          // written by the head
        queue::cell<tree_node*> node;             // the current one
        queue::cell<int>
            sub[memory_groups::most_levels]; // groups that went from here to that level, and are open
        worker_id head = 0;                  // fixed
    };

    struct alignas(queue::k_cache_line_bytes) worker_part { // the worker's alone
        queue::locked_list<task> behind;                    // tasks with a range that yielded
        unsigned turns = 0;
        unsigned yields = 0; // since the last call that stopped before them
        unsigned looks = 0;
    };

    static constexpr std::uint8_t flag_known = 1;   // has a range
    static constexpr std::uint8_t flag_opened = 2;  // has opened a group that crosses
    static constexpr std::uint8_t flag_returns = 4; // waits for a group that crosses
    static constexpr std::uint8_t flag_counted = 8; // in without_range_
    static constexpr std::uint8_t flag_invited = 16;
    static constexpr std::uint8_t flag_descended = 32; // has a group open that went to a deeper level

    struct task_part { // zero: no range
        double from, to;
        tree_node* node; // innermost group that crosses
        learned_work::place place;
        std::int16_t end; // of the members among which the range lies
        std::uint8_t level;
        std::uint8_t flags;

        bool is(std::uint8_t f) const noexcept { return (flags & f) != 0; }
        bool crosses() const noexcept {
            return is(flag_known) && static_cast<int>(from) != static_cast<int>(to);
        }
    };

    struct group_part {
        task_part saved;
        work_ranges* opened_in; // the others of its wait may be in a team, or out of it
        double work_left;       // of the hint
        double learned_left;    // of what it took the last time
        tree_node* node;
        learned_work::place place;
        std::int16_t first_under, last_under; // memory groups whose `sub` it has set
        std::uint8_t descends;                // to this level; 0: it does not
        bool is_known, crosses, is_foreign, has_work, is_divided;
    };

    struct member_range { // closed, as thieves see it (4.3.5)
        int level, lo, hi;
        bool edge; // the range ends on an integer: hi is the last member and wholly inside
        bool contains(int i) const noexcept { return lo <= i && i <= hi; }
    };

    static constexpr int nodes_per_member = 256;
    static constexpr int most_learned_children = 256; // of a group; the rest is known together
    static constexpr unsigned most_steps = 4096;      // of a walk, should stale nodes make a ring
    static constexpr std::uint64_t field = 0xfffff;

    static std::uint64_t pack(const task_part& p) noexcept {
        const auto lo = static_cast<std::uint64_t>(p.from);
        auto hi = static_cast<std::uint64_t>(p.to);
        const bool edge = static_cast<double>(hi) == p.to && hi > lo;
        if (edge) --hi;
        return lo | hi << 20U | std::uint64_t{p.level} << 40U | std::uint64_t{edge} << 48U;
    }
    static member_range unpack(std::uint64_t r) noexcept {
        return {static_cast<int>(r >> 40U & 0xffU), static_cast<int>(r & field),
                static_cast<int>(r >> 20U & field), (r >> 48U & 1U) != 0};
    }
    static double usable(double work) noexcept { return std::isfinite(work) && work > 0 ? work : 0; }

    worker_part& at(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    member& of(int level, int i) noexcept {
        member& m = members_[static_cast<std::size_t>(first_member_[level] + i)];
        return m;
    }
    workers heads(member_range r) const noexcept { return groups_.heads(r.level, {r.lo, r.hi + 1}); }
    void wake(member_range r) { context_->wake(heads(r)); }
    static placement only(worker_id w) noexcept { return {w, {w, w + 1}}; }

    static placement mail(member& to, task& t) noexcept {
        to.mailbox.push_back(&t);
        return only(to.head);
    }

    // ---- who has no range

    /// A root, or a task of a graph, that finds the first worker free is offered the range of all.
    bool invites(task& t) noexcept {
        if (groups_.workers_in_all() < 2 || !t.fresh() || t.data<task_part>().flags != 0) return false;
        if (anchored_.load_relaxed() != nullptr || first_is_busy_.load_relaxed()) return false; // hints
        task* nobody = nullptr;
        return invited_.compare_exchange(nobody, &t);
    }

    void stalls() {
        if (options_.multi_level && stalled_.add(1) == 0)
            context_->wake(context_->all()); // all levels are served
    }
    void went_on() noexcept {
        if (!options_.multi_level) return;
        // Waits for another runtime are not counted when they begin: it stays above 0.
        int n = stalled_.load_relaxed();
        while (n > 0 && !stalled_.compare_exchange(n, n - 1)) {}
    }

    // ---- division

    /// What is left after this child, over that with the child: 4.3.2. Missing hints: children share what is
    /// left equally if their number is known, else each gets half of it.
    double share_of_rest(group_part& its, const task& parent, task& child) noexcept {
        if (learned_.is_on()) {
            const bool by_itself = child.data<task_part>().place != its.place;
            const double took = by_itself ? learned_.begin(child.data<task_part>().place) : 0;
            if (its.learned_left > 0 && took > 0) return share_after(its.learned_left, took);
        }
        const int others = std::max(parent.hint().children - child.index() - 1, 0);
        const double equal = others > 0 ? static_cast<double>(others) / (others + 1) : .5;
        if (!its.has_work) return equal;
        const double work = usable(child.hint().work);
        return share_after(its.work_left, work > 0 ? work : its.work_left * (1 - equal));
    }
    static double share_after(double& left, double work) noexcept {
        left = std::max(left - work, 0.);
        return left + work > 0 ? left / (left + work) : .5;
    }

    static double divide(double from, double to, double share, int end) noexcept {
        constexpr double snap = 1e-4, below_end = 1e-5;
        double middle = from + (to - from) * share;
        if (std::abs(middle - std::round(middle)) < snap) middle = std::round(middle);
        if (middle >= end) middle = end - below_end; // member `end` does not exist
        return std::clamp(middle, from, to);
    }

    // ---- levels

    /// Takes the group, if its data fit, to the members of a deeper level: 5.4, INIT, and 5.5.
    void go_deeper(worker_id w, task& t, group& g) {
        auto& part = t.data<task_part>();
        auto& its = g.data<group_part>();
        const auto bytes = static_cast<double>(g.hint().bytes > 0 ? g.hint().bytes : t.hint().bytes);
        const int level = part.level, here = groups_.of_worker(level, w);
        memory_groups::span under{here, here + 1};
        const auto whole_last = static_cast<int>(part.to);
        int to = level;
        // Over all memory groups that lie wholly in the range. One that does not is shared with a neighbour.
        if (part.crosses() && part.from == static_cast<double>(here) && whole_last > here + 1)
            to = groups_.deepest_that_holds(bytes, level, under = {here, whole_last});
        if (to == level) to = groups_.deepest_that_holds(bytes, level, under = {here, here + 1});
        if (to == level) return;
        const auto below = groups_.descendants(level, under, to);
        its.descends = static_cast<std::uint8_t>(to);
        its.first_under = static_cast<std::int16_t>(under.first);
        its.last_under = static_cast<std::int16_t>(under.last);
        set_sub(level, under, to, 1);
        part.from = below.first;
        part.to = below.last;
        part.end = static_cast<std::int16_t>(below.last);
        part.level = its.descends;
        part.flags |= flag_descended;
    }
    void comes_up(const group_part& its) {
        set_sub(its.saved.level, {its.first_under, its.last_under}, its.descends, -1);
        if (its.is_foreign) went_on();
    }
    void set_sub(int level, memory_groups::span under, int to, int change) {
        for (int i = under.first; i < under.last; ++i) of(level, i).sub[to].add(change);
        if (change < 0 && options_.multi_level) // they serve the level above again
            context_->wake(groups_.heads(leaf_, groups_.descendants(level, under, leaf_)));
    }

    /// The level for which a worker works now.
    int served(worker_id w) noexcept {
        if (!options_.multi_level) return leaf_;
        for (int l = leaf_ - 1; l >= 0; --l) {
            const member& m = of(l, groups_.of_worker(l, w));
            for (int to = leaf_; to > l; --to)
                if (m.sub[to].load_relaxed() > 0) return to;
        }
        return 0;
    }

    // ---- the distribution tree

    void activate(tree_node* node) {
        if (node == nullptr || node->active.load_relaxed()) return;
        node->active.store_release(true); // pairs with topmost()
        if (options_.steal) wake(unpack(node->range.load_relaxed()));
    }

    /// The members in the middle of a range whose task has ended get its node, since nobody has sent them
    /// one.
    void hand_over(const task_part& part) noexcept {
        const int last = std::min(static_cast<int>(std::ceil(part.to)), int{part.end});
        for (int i = static_cast<int>(part.from) + 1; i < last; ++i)
            of(part.level, i).node.store_release(part.node); // pairs with topmost()
    }

    /// The topmost active node over the current one of a member, null if there is none.
    tree_node* topmost(member& m, int level, int here) const noexcept {
        tree_node* top = nullptr;
        tree_node* n = m.node.load_acquire(); // pairs with group_begin(), group_end(), hand_over(), adopt()
        for (unsigned step = 0; n != nullptr && step < most_steps; ++step, n = n->parent.load_relaxed()) {
            if (!n->active.load_acquire()) continue; // pairs with activate()
            const member_range r = unpack(n->range.load_relaxed());
            if (r.level == level && r.contains(here)) top = n; // else it is stale
        }
        return top;
    }

    // ---- what a worker takes

    /// A worker begins with a task that yielded, or one without a range, at every so many turns; and after so
    /// many yields it looks elsewhere before it comes to those that yielded (R1 and R2 of places.hpp).
    decision choose(worker_id w, worker_part& mine, bool last_look) {
        if (groups_.workers_in_all() < 2) return places_.own(w, last_look);
        const int level = served(w), here = groups_.of_worker(level, w);
        const bool fair = ++mine.turns % places::turns_to_fair == 0;
        if (fair) {
            if (mine.turns / places::turns_to_fair % 2 == 1)
                if (task* const t = mine.behind.try_pop_front()) return {t, w};
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        }
        // What lies deeper than that may run at any time. (It is there if somebody else has waited for a
        // group.)
        for (int l = leaf_; l >= level; --l)
            if (task* const t = take_own(w, l)) return {t, w};
        if (level > 0) // a root: there is one at a time
            if (task* const t = take_own(w, 0)) return {t, w};
        const bool skips = mine.yields >= places::yields_to_look && !last_look;
        if (!options_.multi_level || stalled_.load_relaxed() > 0 || mine.yields >= places::yields_to_look) {
            for (int l = level - 1; l >= 0; --l)
                if (task* const t = take_own(w, l)) return {t, w};
        }
        if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (skips) mine.yields = 0;
        if (!skips)
            if (task* const t = mine.behind.try_pop_front()) return {t, w};
        return look_outside(w, mine, level, here, last_look);
    }

    /// Algorithm 4.3, POPTASKFROMLOCAL.
    task* take_own(worker_id w, int level) noexcept {
        const int here = groups_.of_worker(level, w);
        member& m = of(level, here);
        if (m.head != w) return nullptr;
        if (task* const t = m.mailbox.try_pop_front()) {
            auto& part = t->data<task_part>();
            m.uses_migrated.store_relaxed(false);
            if (part.is(flag_invited)) invited_.exchange(nullptr);
            if (part.node != nullptr)
                m.node.store_release(part.node); // adoption, 4.2.4; pairs with topmost()
            return t;
        }
        const bool migrated_first = m.uses_migrated.load_relaxed();
        if (task* const t = (migrated_first ? m.migrated : m.local).try_pop_front()) return t;
        task* const t = (migrated_first ? m.local : m.migrated).try_pop_front();
        m.uses_migrated.store_relaxed(!migrated_first && t != nullptr);
        return t;
    }

    decision look_outside(worker_id w, worker_part& mine, int level, int here, bool last_look) {
        const bool has_range = options_.steal && of(level, here).head == w;
        const tree_node* const top = has_range ? topmost(of(level, here), level, here) : nullptr;
        if (last_look) {
            if (top != nullptr) {
                const member_range r = unpack(top->range.load_relaxed());
                for (int v = r.lo; v <= r.hi; ++v)
                    if (task* const t = v != here ? steal(r, v) : nullptr) return {t, of(level, v).head};
            }
            const worker_id first = places_.random_victim(w);
            return first < 0 ? decision{} : places_.look_everywhere(w, first);
        }
        if (top == nullptr || ++mine.looks % 2 == 0) { // half of the looks are for what has no range
            const worker_id victim = places_.random_victim(w);
            if (victim < 0) return {};
            const places::look_result found = places_.look(victim);
            return {found.t, victim, found.t == nullptr && !found.lost && without_range_.load_relaxed() > 0};
        }
        const member_range r = unpack(top->range.load_relaxed());
        const int others = r.hi - r.lo; // this one is in it
        if (others < 1) return {};
        int v = r.lo + static_cast<int>(context_->random(w, static_cast<std::uint32_t>(others)));
        if (v >= here) ++v;
        member& victim = of(level, v);
        task* const t = steal(r, v);
        // What it runs came from the queue that it uses.
        const bool asks = level == leaf_ && options_.lazy &&
                          (victim.uses_migrated.load_relaxed() ? v != r.lo : v != r.hi || r.edge);
        return {t, victim.head, t == nullptr && asks};
    }

    /// One look at member v. At the ends of a range one of the queues has tasks of the neighbouring one.
    task* steal(const member_range& r, int v) noexcept {
        member& victim = of(r.level, v);
        if (v != r.lo)
            if (task* const t = victim.migrated.try_pop_back()) return t;
        return v != r.hi || r.edge ? victim.local.try_pop_back() : nullptr;
    }

    const work_range_options options_;
    policy_context* context_ = nullptr;
    places places_; // of tasks without a range
    memory_groups groups_;
    learned_work learned_;
    int leaf_ = 0;
    int first_member_[memory_groups::most_levels] = {};
    std::unique_ptr<member[]> members_;
    std::unique_ptr<tree_node[]> nodes_;
    std::unique_ptr<worker_part[]> mine_;
    queue::cell<task*> anchored_;     // the root with a range; written on the worker that runs it
    queue::cell<task*> invited_;      // in the first mailbox, to be anchored
    queue::cell<bool> first_is_busy_; // the first worker runs a task without a range; written by it
    queue::cell<int> without_range_;  // tasks that run
    queue::cell<int> stalled_;        // tasks that wait for other than their children
};

} // namespace weft
