#pragma once

#include "policy/parts/anchored_root.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/learned_work.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/range_members.hpp"
#include "policy/parts/range_task.hpp"
#include "policy/parts/remaining_work.hpp"
#include "policy/parts/served_levels.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <weft/impl/group.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

/// Almost deterministic work stealing, on one level or on several: the policies `adws` and `ml-adws`.
///
///   S. Shiina: Almost deterministic work stealing. Master's thesis, University of Tokyo, 2021. Chapter 4
///   (one level: Algorithms 4.1 to 4.3) and chapter 5 (several: Algorithms 5.2 and 5.3).
///
/// Members are the memory groups of one level; on one level they are the workers. A task has a work_range on
/// the line of members. Its children get pieces of it by their work, each the upper end of what is left, so
/// the map from tasks to members follows from the hints alone. A task whose range crosses an integer is a
/// *search root*: it is owned by the member at the lower end, goes there by the mailbox, is never stolen, and
/// comes back there after each of its groups. Any other task is the member's own business: on the last level
/// its whole subtree is silent, and thieves ask for its hidden frames. Stealing is bound to the ranges that
/// distribution_tree.hpp allows.
///
/// Resolved where the thesis is silent or damaged:
/// - A range that ends on an integer ends before that member: the one below lies wholly inside.
/// - Tasks that do not cross are not divided, wherever they run. Otherwise a stolen task would send its
///   children back, and two members would pass tasks to one queue at the same time.
/// - The member that receives a search root adopts its node. A search root that ends without having opened a
///   group hands its node to the members in the middle of its range, which no search root would reach.
/// - One root at a time has the range of all (anchored_root.hpp). Other roots, tasks of graphs, and children
///   added to the group of another task have no range. Any worker steals them, at random, as under `steal`.
///
/// On several levels, a group whose data fit goes to a deeper level (served_levels.hpp): its range is then
/// that of the members below. If a task is blocked, or a worker only yields, what waits at other levels is
/// served as well, since it may be what they wait for.
///
/// Invariants:
/// I1. A search root runs on the head of floor(from) only, and `from` never changes within a group.
/// I2. A queue holds tasks that do not cross. A mailbox is read by the head of its member alone.
/// I3. The part of a task with silent descendants is not written: they copy it. (All writes are in hooks of
///     the reported zone, by the worker that runs the task.) (no test)
namespace weft {

struct almost_deterministic_options {
    bool steal = true;
    bool learned = false;
    bool lazy = true; ///< below one worker nothing is reported
    bool multi_level = false;
};

class almost_deterministic_stealing : public policy {
public:
    explicit almost_deterministic_stealing(almost_deterministic_options options) : options_(options) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        members_.attach(m, context, options_.multi_level, options_.steal);
        leaf_ = groups().leaf_level();
        levels_.attach(groups(), context, options_.multi_level);
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(places_.workers_in_all()));
        if (options_.learned) learned_.attach();
        return {.task_bytes = sizeof(range_task),
                .group_bytes = sizeof(group_part),
                .own_usage = options_.learned,
                .demotable = true};
    }

    // ---- a group begins: INIT

    void group_begin(worker_id w, task& t, group& g) override {
        auto& part = t.data<range_task>();
        auto& its = g.data<group_part>();
        its = {};
        if (!part.has(range_task::known) || is_alone()) return;
        its.is_known = true;
        its.opened_in = this;
        its.saved = part;
        its.work = remaining_work::of_group(g.hint().work);
        if (learned_.is_on()) enter_learned(part, its, g);
        if (part.level != leaf_) go_deeper(w, t, g);
        if (!part.crosses()) return;
        its.crosses = true;
        its.node = members_.open(part, its.descends_to == 0 ? part.node : nullptr);
        if (its.node == nullptr) return;
        part.node = its.node;
        part.flags |= range_task::opened;
    }

    // ---- a task is created: CREATE

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        auto& p = parent.data<range_task>();
        if (is_alone() || !p.has(range_task::known)) return spawn_order::lazy;
        const bool below = p.level == leaf_ && !p.crosses();
        if (!below && child.parent_group()->owner() != &parent)
            return spawn_order::parent_first; // without a range
        auto& its = child.parent_group()->data<group_part>();
        auto& c = child.data<range_task>();
        c = p;
        c.flags = range_task::known;
        if (learned_.is_on()) c.place = learned_place_of(child, its, below);
        if (below && options_.lazy) return spawn_order::lazy; // I3: nothing is written
        const double share = below ? 0 : share_of_rest(its, parent, child);
        if (!p.crosses()) return spawn_order::child_first;
        // The last child of a join gets all that is left, and its parent continues beside it.
        const double middle = child.last() ? p.range.from : p.range.cut(share, p.end);
        c.range.from = p.range.to = middle;
        const bool stays = groups().head(c.level, c.range.owner()) == w && c.range.owner() == p.range.owner();
        return stays ? spawn_order::child_first : spawn_order::parent_first;
    }

    // ---- a task goes to a member

    placement ready(worker_id w, task& t, ready_reason reason) override {
        auto& part = t.data<range_task>();
        if (reason == ready_reason::unblocked) levels_.resume();
        if ((reason == ready_reason::root || reason == ready_reason::released) && may_be_anchored(t)) {
            part.flags |= range_task::invited;
            return members_.send(0, 0, t);
        }
        const bool is_free = !part.has(range_task::known);
        if (is_free && !has_free_.load_relaxed()) has_free_.store_relaxed(true);
        if (is_free) return places_.put(w, t, reason);
        if (goes_behind(reason)) {
            at(w).turns.yielded();
            at(w).yielded.push_back(&t);
            return range_members::only(w);
        }
        if (part.crosses() || part.has(range_task::returns)) // I2
            return members_.send(part.level, part.range.owner(), t);
        if (reason == ready_reason::spawned) return members_.pass(part.level, part.range.owner(), t);
        return members_.push(w, t, part.level, part.range.owner(), reason);
    }

    // ---- a group is waited for, and ends: WAIT

    after_wait group_wait(worker_id, task& t, group& g) override {
        auto& its = g.data<group_part>();
        auto& part = t.data<range_task>();
        if (!its.is_known) return after_wait::stay;
        if (g.owner() != &t || its.opened_in != this) { // another task waits: it may outlive the owner
            its.is_foreign = true;
            return after_wait::stay;
        }
        if (part.crosses()) {
            members_.hand_over(part);
            members_.activate(part.node);
        }
        if (!its.crosses) return after_wait::stay;
        part.flags |= range_task::returns;
        return after_wait::requeue; // I1: return migration
    }

    void group_end(worker_id, task& t, group& g) override {
        auto& its = g.data<group_part>();
        if (!its.is_known) return;
        if (its.node != nullptr) members_.close(*its.node);
        if (its.descends_to > 0) its.opened_in->come_up(its);
        if (its.is_foreign) return;
        auto& part = t.data<range_task>();
        const auto flags = static_cast<std::uint8_t>(((part.flags & range_task::opened) | its.saved.flags) &
                                                     ~range_task::returns);
        part = its.saved;
        part.flags = flags;
    }

    // ---- a task begins and ends

    void started(worker_id w, task& t) override {
        auto& part = t.data<range_task>();
        if (part.has(range_task::invited)) {
            part.flags = 0;
            if (w == groups().head(0, 0) && root_.anchor(t)) begin_at_the_top(part);
        }
        if (part.has(range_task::known) || is_alone()) return;
        part.flags |= range_task::counted;
        if (without_range_.add(1) == 0) context_->wake(context_->all()); // victims() has changed
    }

    void blocked(worker_id, task&, ready_reason reason) override {
        if (reason == ready_reason::unblocked) levels_.stall();
    }

    /// ONTASKCOMPLETION.
    void finished(worker_id, task& t, const usage& used) override {
        auto& part = t.data<range_task>();
        if (learned_.is_on()) learned_.add(part.place, used.self);
        root_.finished(t);
        if (part.has(range_task::counted)) without_range_.add(-1);
        if (part.has(range_task::descended))
            levels_.stall(); // it leaves its group to other tasks, which the group may keep back
        if (!part.has(range_task::known) || !part.crosses()) return;
        if (!part.has(range_task::opened)) members_.hand_over(part);
        members_.activate(part.node);
    }

    // ---- a worker looks for a task: SCHEDULER

    decision next(worker_id w, bool last_look) override {
        const decision got = choose(w, at(w), last_look);
        // A root is not sent to a first worker that runs a task without a range.
        if (w == groups().head(0, 0))
            root_.first_worker_is_busy(
                got.t != nullptr && !got.t->data<range_task>().has(range_task::known | range_task::invited));
        return got;
    }

    workers victims(worker_id w) override {
        if (is_alone()) return {};
        if (without_range_.load_relaxed() > 0) return context_->all();
        const int level = levels_.served_by(w);
        if (level != leaf_) return {};
        const auto range = members_.own_steal_range(level, groups().of_worker(level, w));
        return range ? members_.heads(*range) : workers{};
    }

private:
    struct group_part {
        range_task saved;
        almost_deterministic_stealing* opened_in; // another task that waits may be in a team, or out of it
        remaining_work work;
        distribution_tree::node* node;
        learned_work::place place;
        std::int16_t first_under, last_under; // memory groups that it went deeper from
        std::uint8_t descends_to;             // this level; 0: it stays
        bool is_known, crosses, is_foreign, is_divided;
    };

    struct alignas(queue::k_cache_line_bytes) worker_part { // only its worker touches it
        queue::locked_list<task> yielded;                   // tasks with a range
        fair_turns turns;
        unsigned looks = 0;
    };

    static constexpr int most_learned_children = 256; // of a group; the rest is known together

    worker_part& at(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    const memory_groups& groups() const noexcept { return members_.groups(); }
    bool is_alone() const noexcept { return places_.workers_in_all() < 2; }

    // ---- roots

    bool may_be_anchored(task& t) noexcept {
        return !is_alone() && t.fresh() && t.data<range_task>().flags == 0 && root_.invite(t);
    }
    void begin_at_the_top(range_task& part) noexcept {
        part.range = {0, .5}; // crosses nothing: its groups go deeper
        part.end = 1;
        part.place = learned_.is_on() ? learned_work::root : 0;
        if (learned_.is_on()) learned_.begin(learned_work::root);
        part.flags = range_task::known;
    }

    // ---- division: 4.3.2

    double share_of_rest(group_part& its, const task& parent, task& child) noexcept {
        const learned_work::place place = child.data<range_task>().place;
        if (learned_.is_on()) {
            const double took = place != its.place ? learned_.begin(place) : 0;
            if (its.work.measured > 0 && took > 0) return its.work.after_measured(took);
        }
        return its.work.after_hinted(child.hint().work,
                                     std::max(parent.hint().children - child.index() - 1, 0));
    }

    void enter_learned(const range_task& part, group_part& its, const group& g) noexcept {
        its.place = part.place;
        its.is_divided = part.crosses() || part.level != leaf_;
        if (!its.is_divided) return;
        its.place = learned_.below(part.place, g.hint().name, -1);
        its.work.measured = learned_.begin(its.place);
    }
    learned_work::place learned_place_of(const task& child, const group_part& its, bool below) noexcept {
        if (!its.is_divided || child.index() >= most_learned_children) return its.place;
        const auto place = learned_.below(its.place, child.hint().name, child.index());
        if (below) learned_.begin(place);
        return place;
    }

    // ---- levels: 5.4, INIT, and 5.5

    /// Takes the group, if its data fit, to the members of a deeper level.
    void go_deeper(worker_id w, task& t, group& g) {
        auto& part = t.data<range_task>();
        auto& its = g.data<group_part>();
        const auto bytes = static_cast<double>(g.hint().bytes > 0 ? g.hint().bytes : t.hint().bytes);
        const int level = part.level, here = groups().of_worker(level, w);
        memory_groups::span under{here, here + 1};
        const auto whole_last = static_cast<int>(part.range.to);
        int to = level;
        // Over all memory groups that lie wholly in the range. One that does not is shared with a neighbour.
        if (part.crosses() && part.range.from == static_cast<double>(here) && whole_last > here + 1)
            to = groups().deepest_that_holds(bytes, level, under = {here, whole_last});
        if (to == level) to = groups().deepest_that_holds(bytes, level, under = {here, here + 1});
        if (to == level) return;
        const auto below = groups().descendants(level, under, to);
        its.descends_to = static_cast<std::uint8_t>(to);
        its.first_under = static_cast<std::int16_t>(under.first);
        its.last_under = static_cast<std::int16_t>(under.last);
        levels_.descend(level, under, to);
        part.range = {static_cast<double>(below.first), static_cast<double>(below.last)};
        part.end = static_cast<std::int16_t>(below.last);
        part.level = its.descends_to;
        part.flags |= range_task::descended;
    }
    void come_up(const group_part& its) {
        levels_.ascend(its.saved.level, {its.first_under, its.last_under}, its.descends_to);
        if (its.is_foreign) levels_.resume();
    }

    // ---- what a worker takes

    decision choose(worker_id w, worker_part& mine, bool last_look) {
        if (is_alone()) return places_.own(w, last_look);
        const int level = levels_.served_by(w);
        const turn now = mine.turns.begin();
        if (now == turn::odd_fair)
            if (task* const t = mine.yielded.try_pop_front()) return {t, w};
        if (now != turn::usual)
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (task* const t = of_own_groups(w, mine, level)) return {t, w};
        const bool skips = mine.turns.sees_only_yields() && !last_look;
        if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (skips) {
            mine.turns.looked_elsewhere();
        } else if (task* const t = mine.yielded.try_pop_front()) {
            return {t, w};
        }
        return last_look ? look_everywhere(w, level) : look_once(w, mine, level);
    }

    task* of_own_groups(worker_id w, const worker_part& mine, int level) noexcept {
        // What lies deeper than the served level may run at any time. (It is there if another task has waited
        // for a group.)
        for (int l = leaf_; l >= level; --l)
            if (task* const t = take_own(w, l)) return t;
        if (level > 0) // a root: there is one at a time
            if (task* const t = take_own(w, 0)) return t;
        if (!levels_.all_are_served() && !mine.turns.sees_only_yields()) return nullptr;
        for (int l = level - 1; l >= 0; --l)
            if (task* const t = take_own(w, l)) return t;
        return nullptr;
    }

    /// Algorithm 4.3, POPTASKFROMLOCAL.
    task* take_own(worker_id w, int level) noexcept {
        const int here = groups().of_worker(level, w);
        if (!members_.is_head(w, level, here)) return nullptr;
        migration_queues& own = members_.queues(level, here);
        task* const t = own.receive();
        if (t == nullptr) return own.pop();
        const auto& part = t->data<range_task>();
        if (part.has(range_task::invited)) root_.arrived();
        members_.adopt(level, here, part); // 4.2.4
        return t;
    }

    /// Algorithm 4.3, STEALTASK. Once there were tasks without a range, half of the looks are for these.
    decision look_once(worker_id w, worker_part& mine, int level) {
        const auto range = members_.steal_range_of(w, level);
        const bool for_free = has_free_.load_relaxed();
        if (range && (!for_free || ++mine.looks % 2 != 0))
            return members_.steal_one(w, *range, level == leaf_ && options_.lazy);
        return for_free ? places_.look_at_random(w, without_range_.load_relaxed() > 0) : decision{};
    }
    decision look_everywhere(worker_id w, int level) {
        if (const auto range = members_.steal_range_of(w, level))
            if (const decision stolen = members_.steal_any(w, *range); stolen.t != nullptr) return stolen;
        const worker_id first = places_.random_victim(w);
        return first < 0 ? decision{} : places_.look_everywhere(w, first);
    }

    const almost_deterministic_options options_;
    policy_context* context_ = nullptr;
    places places_; // of tasks without a range
    range_members members_;
    served_levels levels_;
    learned_work learned_;
    anchored_root root_;
    int leaf_ = 0;
    std::unique_ptr<worker_part[]> mine_;
    queue::cell<bool> has_free_;     // there were tasks without a range; a last look does not read it
    queue::cell<int> without_range_; // tasks without a range that run
};

} // namespace weft
