// adws without an engine: what it divides, which workers it lets steal, and the theorems of the thesis (S.
// Shiina, 2021, appendix A) on random programs.
#include "policy/fake_context.hpp"
#include "policy/parts/memory_groups.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::fake_context;

machine flat_machine(int cores) {
    machine_parts parts;
    for (int i = 0; i < cores; ++i) parts.cores.push_back({.physical_core = i});
    parts.core_classes.emplace_back();
    parts.memory_nodes.push_back({.ranks = {0, cores}});
    return machine(std::move(parts));
}

struct record { // a task and the policy's bytes behind it
    task t;
    alignas(std::max_align_t) std::byte bytes[max_task_bytes] = {};
};

struct open_group {
    open_group(task& owner, double work) : all{.work = work} {
        g.owner_ = &owner;
        g.hint_ = &all;
        g.data_ = bytes;
    }
    group g;
    hints all;
    alignas(std::max_align_t) std::byte bytes[max_group_bytes] = {};
};

struct driven {
    driven(const std::string& spec, int workers, std::uint32_t seed = 1)
        : context(workers, seed)
        , scheduler(make_policy(spec)) {
        scheduler->attach(flat_machine(workers), context);
    }
    policy* operator->() const { return scheduler.get(); }

    task& make() { return records.emplace_back().t; }
    task& child(open_group& in, int index, double work) {
        task& t = make();
        t.parent_ = in.g.owner_;
        t.group_ = &in.g;
        t.index_ = index;
        t.hint_.work = work;
        return t;
    }
    void start(worker_id w, task& t) {
        scheduler->started(w, t);
        t.state_ = task_state::running;
    }

    fake_context context;
    std::unique_ptr<policy> scheduler;
    std::deque<record> records;
};

// ---- by hand

/// The thesis' Fig. 4.12: of [0, 8], continuation and new task have 4.3 and 3.7.
TEST(adws, the_new_task_gets_the_upper_part) {
    driven p("adws", 8);
    task& root = p.make();
    EXPECT_EQ(p->ready(3, root, ready_reason::root).who.first, 0);
    EXPECT_EQ(p->next(3, true).t, nullptr);
    ASSERT_EQ(p->next(0, false).t, &root);
    p.start(0, root);
    open_group g(root, 8);
    p->group_begin(0, root, g.g);
    task& first = p.child(g, 0, 3.7);
    EXPECT_EQ(p->spawn(0, root, first), spawn_order::parent_first);
    const placement at = p->ready(0, first, ready_reason::spawned);
    EXPECT_EQ(at.at, 4);
    EXPECT_EQ(at.who.size(), 1);
    task& second = p.child(g, 1, 4.3);
    EXPECT_EQ(p->spawn(0, root, second), spawn_order::child_first);
    EXPECT_EQ(p->group_wait(0, root, g.g), after_wait::requeue);
    EXPECT_EQ(p->ready(5, root, ready_reason::joined).at, 0);
    EXPECT_EQ(p->next(0, false).t, &root);
}

/// Three workers; the range [1.5, 3] is active, and [0, 1.5] is not.
TEST(adws, which_worker_may_steal_what) {
    driven p("adws", 3);
    task& root = p.make();
    p->ready(0, root, ready_reason::root);
    p->next(0, false);
    p.start(0, root);
    open_group g(root, 2);
    p->group_begin(0, root, g.g);
    task& a = p.child(g, 0, 1); // [1.5, 3]
    ASSERT_EQ(p->spawn(0, root, a), spawn_order::parent_first);
    EXPECT_EQ(p->ready(0, a, ready_reason::spawned).at, 1);
    task& b = p.child(g, 1, 1); // [0, 1.5]
    ASSERT_EQ(p->spawn(0, root, b), spawn_order::child_first);
    p->ready(0, root, ready_reason::continuation);
    p.start(0, b);
    open_group in_b(b, 4);
    p->group_begin(0, b, in_b.g);
    task& b0 = p.child(in_b, 0, 1); // [1.125, 1.5]: worker 1's own
    ASSERT_EQ(p->spawn(0, b, b0), spawn_order::parent_first);
    EXPECT_EQ(p->ready(0, b0, ready_reason::spawned).at, 1);

    ASSERT_EQ(p->next(1, false).t, &a);
    p.start(1, a);
    open_group in_a(a, 2);
    p->group_begin(1, a, in_a.g);
    task& a0 = p.child(in_a, 0, 1); // [2.25, 3]
    ASSERT_EQ(p->spawn(1, a, a0), spawn_order::parent_first);
    EXPECT_EQ(p->ready(1, a0, ready_reason::spawned).at, 2);
    task& a1 = p.child(in_a, 1, 1); // [1.5, 2.25]
    ASSERT_EQ(p->spawn(1, a, a1), spawn_order::child_first);
    p->ready(1, a, ready_reason::continuation);

    ASSERT_EQ(p->next(2, false).t, &a0);
    p.start(2, a0);
    EXPECT_TRUE(p->victims(2).empty());
    p.context.woken.clear();
    p->finished(2, a0, {});
    ASSERT_EQ(p.context.woken.size(), 1U);
    EXPECT_EQ(p.context.woken[0].first, 1);
    EXPECT_EQ(p.context.woken[0].last, 3);
    EXPECT_EQ(p->victims(2).first, 1);
    EXPECT_EQ(p->victims(2).last, 3);
    EXPECT_TRUE(p->victims(0).empty());
    // Of worker 1 only what it left behind itself: what was sent to it belongs to [0, 1.5].
    EXPECT_EQ(p->next(2, true).t, &a);
    EXPECT_EQ(p->next(2, true).t, nullptr);
    EXPECT_EQ(p->next(1, true).t, &b0);
    // Of worker 2, where the range ends on an integer, everything.
    p->ready(2, a, ready_reason::continuation);
    EXPECT_EQ(p->next(1, true).t, &a);
    // Worker 0 has no range, so it takes what it has and nothing else.
    EXPECT_EQ(p->next(0, true).t, &root);
    EXPECT_EQ(p->next(0, true).t, nullptr);
}

// Algorithm 4.3: where no range is active, a worker does not steal at all.
TEST(adws, without_an_active_range_a_worker_looks_elsewhere_only_once_there_were_tasks_without_one) {
    driven p("adws", 4);
    for (int look = 0; look < 4; ++look) EXPECT_EQ(p->next(1, false).t, nullptr);
    EXPECT_TRUE(p.context.bounds.empty()) << "no victim is drawn";
    task& other = p.make();
    p->ready(2, other, ready_reason::continuation);
    p.context.draws = {1}; // of the three others the second
    EXPECT_EQ(p->next(1, false).t, &other);
}

/// A second root has no range while the first one runs, and any worker takes it.
TEST(adws, one_root_at_a_time_has_the_range_of_all) {
    driven p("adws", 2);
    task &first = p.make(), &second = p.make(), &third = p.make();
    EXPECT_EQ(p->ready(1, first, ready_reason::root).who.size(), 1);
    EXPECT_EQ(p->ready(1, second, ready_reason::root).who.size(), 2);
    EXPECT_EQ(p->next(1, false).t, &second);
    ASSERT_EQ(p->next(0, false).t, &first);
    p.start(0, first);
    EXPECT_EQ(p->ready(1, third, ready_reason::root).who.size(), 2);
    EXPECT_EQ(p->next(0, true).t, &third);
    p->finished(0, first, {});
    p->next(0, true);
    EXPECT_EQ(p->ready(1, p.make(), ready_reason::root).who.size(), 1);
}

// ---- memory groups

/// Cores under equal caches, each with one of its own.
machine with_caches(int shared, const std::string& shared_bytes, int cores_each, const std::string& own) {
    return parse_toml("name = 'caches'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                      "[regular]\npackages = " +
                          std::to_string(shared) +
                          "\ndomains_per_package = 1\ncores_per_domain = " + std::to_string(cores_each) +
                          "\n[[cache]]\nlevel = 1\nshared_by = 'core'\nbytes = '" + own +
                          "'\n[[cache]]\nlevel = 3\nshared_by = 'domain'\nbytes = '" + shared_bytes + "'\n",
                      "caches");
}

/// The thesis' Fig. 5.2: the level at which a worker begins is that of the topmost group it is the head of.
TEST(ml_adws, levels_at_which_workers_begin) {
    const fake_context context(16);
    memory_groups groups;
    groups.attach(with_caches(4, "8 KiB", 4, "1 KiB"), context, true);
    ASSERT_EQ(groups.levels(), 3);
    for (worker_id w = 0; w < 16; ++w) {
        int level = 0;
        while (groups.head(level, groups.of_worker(level, w)) != w) ++level;
        EXPECT_EQ(level, w == 0 ? 0 : w % 4 == 0 ? 1 : 2) << w;
    }
    EXPECT_EQ(groups.of_worker(0, 4), 0);
    EXPECT_EQ(groups.of_worker(1, 4), 1);
    EXPECT_EQ(groups.of_worker(2, 4), 4);
}

/// The roots of two levels go to the workers that begin there, and to no others: those of a root group that
/// fits no cache go to the heads of the caches, the uppermost first.
TEST(ml_adws, tasks_of_a_level_go_to_its_heads) {
    fake_context context(16);
    const std::unique_ptr<policy> p = make_policy("ml-adws:steal=off");
    p->attach(with_caches(4, "8 KiB", 4, "1 KiB"), context);
    std::deque<record> records;
    task& root = records.emplace_back().t;
    EXPECT_EQ(p->ready(7, root, ready_reason::root).who.first, 0);
    for (worker_id w = 15; w > 0; --w) EXPECT_EQ(p->next(w, true).t, nullptr) << w;
    ASSERT_EQ(p->next(0, false).t, &root);
    p->started(0, root);
    root.state_ = task_state::running;
    open_group g(root, 4);
    g.all.bytes = 64 << 10;
    p->group_begin(0, root, g.g);
    std::vector<task*> children;
    for (int i = 0; i < 4; ++i) {
        task& t = *children.emplace_back(&records.emplace_back().t);
        t.parent_ = &root;
        t.group_ = &g.g;
        t.index_ = i;
        t.hint_.work = 1;
        EXPECT_EQ(p->spawn(0, root, t), i < 3 ? spawn_order::parent_first : spawn_order::child_first) << i;
        if (i < 3) { EXPECT_EQ(p->ready(0, t, ready_reason::spawned).who.first, 12 - 4 * i) << i; }
    }
    for (worker_id w = 15; w > 0; --w)
        EXPECT_EQ(p->next(w, true).t, w % 4 == 0 ? children[static_cast<std::size_t>(3 - w / 4)] : nullptr)
            << w;
}

/// Table 5.1: two caches of 38.5 MB over 28 cores each.
TEST(ml_adws, the_level_that_holds_a_group) {
    const fake_context context(56);
    memory_groups groups;
    groups.attach(with_caches(2, "38500 KiB", 28, "1 MiB"), context, true);
    constexpr double mb = 1000 * 1024;
    const auto at_root = [&](double size) { return groups.deepest_that_holds(size * mb, 0, {0, 1}); };
    EXPECT_EQ(at_root(50), 2);
    EXPECT_EQ(at_root(77), 2); // as much as both hold
    EXPECT_EQ(at_root(80), 1);
    EXPECT_EQ(groups.descendants(0, {0, 1}, 2).last, 56);
    EXPECT_EQ(groups.descendants(0, {0, 1}, 1).last, 2);
    EXPECT_EQ(groups.deepest_that_holds(38 * mb, 1, {0, 1}), 2);
    EXPECT_EQ(groups.deepest_that_holds(40 * mb, 1, {0, 1}), 1);
    EXPECT_EQ(groups.descendants(1, {0, 1}, 2).first, 0);
    EXPECT_EQ(groups.descendants(1, {0, 1}, 2).last, 28);
}

// ---- programs

struct node {
    std::vector<std::vector<std::size_t>> groups; // children
    double work = 1;
    int cost = 1; // turns, of a leaf
};
using program = std::deque<node>;

/// Virtual workers that step in turn. Checks on the way, with ranges divided once more here, that
///   - a search root is sent to the member that owns it, is run there, and alone in its mailbox (Theorem 2);
///   - all other tasks that are sent to a worker come from one worker at a time (Theorem 1);
///   - every task runs once, and every group is opened by its owner.
class machine_of_steps {
public:
    machine_of_steps(const std::string& spec, int workers, const program& p, std::uint32_t seed)
        : p_(p)
        , driven_(spec, workers, seed)
        , workers_(workers)
        , states_(p.size()) {}

    int steps = 0;
    std::vector<int> ran_on;
    std::vector<std::pair<int, int>> woken; // first, last

    void run() {
        ran_on.assign(p_.size(), -1);
        for (auto& s : states_) s = std::make_unique<state>();
        states_[0]->to = workers_;
        driven_->ready(0, rec(0), ready_reason::root);
        std::vector<std::size_t> current(static_cast<std::size_t>(workers_), none);
        for (; !done_ && steps < 200'000; ++steps)
            for (worker_id w = 0; w < workers_ && !done_; ++w) step(w, current[static_cast<std::size_t>(w)]);
        EXPECT_TRUE(done_);
        for (const worker_id w : ran_on) EXPECT_GE(w, 0);
        for (const workers& range : driven_.context.woken) woken.emplace_back(range.first, range.last);
    }

private:
    static constexpr std::size_t none = ~std::size_t{0};
    struct state {
        record r;
        std::unique_ptr<open_group> g;
        std::size_t group = 0, child = 0, parent = none;
        int open = 0, left = 0;
        double from = 0, to = 0, saved_to = 0, work_left = 0;
        bool waits = false, mailed = false;
        bool crosses() const { return static_cast<int>(from) != static_cast<int>(to); }
    };
    task& rec(std::size_t i) { return states_[i]->r.t; }
    std::size_t number(const task* t) const {
        for (std::size_t i = 0; i < states_.size(); ++i)
            if (&states_[i]->r.t == t) return i;
        return none;
    }

    void mailed(std::size_t i, const placement& at) {
        state& s = *states_[i];
        EXPECT_EQ(at.at, static_cast<int>(s.from));
        EXPECT_EQ(at.who.size(), 1);
        for (const auto& other : states_)
            EXPECT_FALSE(other->mailed && static_cast<int>(other->from) == static_cast<int>(s.from))
                << "Theorem 2";
        s.mailed = true;
    }

    void step(worker_id w, std::size_t& i) {
        if (i == none) {
            task* const t = driven_->next(w, true).t;
            if (t == nullptr) return;
            i = number(t);
            states_[i]->mailed = false;
        }
        state& s = *states_[i];
        if (rec(i).fresh()) {
            driven_.start(w, rec(i));
            EXPECT_EQ(ran_on[i], -1) << "twice";
            ran_on[i] = w;
            s.left = p_[i].groups.empty() ? p_[i].cost : 0;
        }
        if (s.crosses()) { EXPECT_EQ(w, static_cast<int>(s.from)); }
        if (s.left > 0) {
            --s.left;
            return;
        }
        if (s.waits) { // comes back
            s.waits = false;
            s.to = s.saved_to;
            if (s.crosses()) { EXPECT_EQ(w, static_cast<int>(s.from)); }
            driven_->group_end(w, rec(i), s.g->g);
            ++s.group;
            s.child = 0;
            return;
        }
        if (s.group == p_[i].groups.size()) return end(w, i);
        const auto& children = p_[i].groups[s.group];
        if (s.child == 0) {
            double all = 0;
            for (const std::size_t c : children) all += p_[c].work;
            s.work_left = all;
            s.saved_to = s.to;
            s.g = std::make_unique<open_group>(rec(i), all);
            driven_->group_begin(w, rec(i), s.g->g);
            s.open = static_cast<int>(children.size());
        }
        if (s.child < children.size()) return spawn(w, i, children[s.child]);
        s.waits = true;
        s.mailed = false;
        const bool requeues = driven_->group_wait(w, rec(i), s.g->g) == after_wait::requeue;
        const bool crossed = static_cast<int>(s.from) != static_cast<int>(s.saved_to);
        EXPECT_EQ(requeues, crossed);
        const std::size_t self = i;
        i = s.open == 0 && !requeues ? i : none;
        if (s.open == 0 && requeues) mailed(self, driven_->ready(w, rec(self), ready_reason::moved));
    }

    void spawn(worker_id w, std::size_t& i, std::size_t c) {
        state &s = *states_[i], &child = *states_[c];
        task& t = rec(c);
        t.parent_ = &rec(i);
        t.group_ = &s.g->g;
        t.index_ = static_cast<int>(s.child++);
        t.hint_.work = p_[c].work;
        child.parent = i;
        child.from = s.from, child.to = s.to;
        const spawn_order how = driven_->spawn(w, rec(i), t);
        if (!s.crosses()) {
            EXPECT_EQ(how, spawn_order::child_first);
        } else {
            s.work_left = std::max(s.work_left - p_[c].work, 0.);
            double mid = s.from + (s.to - s.from) * s.work_left / (s.work_left + p_[c].work);
            if (std::abs(mid - std::round(mid)) < 1e-4) mid = std::round(mid);
            if (mid >= workers_) mid = workers_ - 1e-5;
            child.from = s.to = std::clamp(mid, s.from, s.to);
            EXPECT_EQ(how == spawn_order::child_first, static_cast<int>(child.from) == w);
        }
        if (how == spawn_order::child_first) {
            driven_->ready(w, rec(i), ready_reason::continuation);
            i = c;
            return;
        }
        const placement at = driven_->ready(w, t, ready_reason::spawned);
        EXPECT_EQ(at.at, static_cast<int>(child.from));
        if (child.crosses()) mailed(c, at);
    }

    void end(worker_id w, std::size_t& i) {
        driven_->finished(w, rec(i), {});
        const std::size_t parent = states_[i]->parent;
        i = none;
        if (parent == none) {
            done_ = true;
            return;
        }
        state& s = *states_[parent];
        if (--s.open > 0 || !s.waits) return;
        const placement at = driven_->ready(w, rec(parent), ready_reason::joined);
        if (static_cast<int>(s.from) != static_cast<int>(s.saved_to)) mailed(parent, at);
    }

    const program& p_;
    driven driven_;
    int workers_;
    std::vector<std::unique_ptr<state>> states_;
    bool done_ = false;
};

void grow(program& p, std::size_t at, int depth, int arity, int groups) {
    if (depth == 0) return;
    for (int k = 0; k < groups; ++k) {
        p[at].groups.emplace_back();
        for (int i = 0; i < arity; ++i) {
            p.emplace_back();
            p[at].groups.back().push_back(p.size() - 1);
            grow(p, p.size() - 1, depth - 1, arity, groups);
        }
    }
}

/// Four workers, eight equal leaves: a worker may steal only where a search root has ended, and the ranges
/// grow from the single workers up to all.
TEST(adws, ranges_become_active_from_the_bottom_up) {
    program p(1);
    grow(p, 0, 3, 2, 1);
    machine_of_steps m("adws:zone=reported", 4, p, 1);
    m.run();
    const auto when = [&](int first, int last) {
        return std::ranges::find(m.woken, std::pair(first, last)) - m.woken.begin();
    };
    for (int w = 0; w < 4; ++w) EXPECT_LT(when(w, w + 1), static_cast<std::ptrdiff_t>(m.woken.size())) << w;
    EXPECT_LT(when(3, 4), when(2, 4));
    EXPECT_LT(when(2, 3), when(2, 4));
    EXPECT_LT(when(0, 1), when(0, 2));
    EXPECT_LT(when(1, 2), when(0, 2));
    EXPECT_LT(std::max(when(2, 4), when(0, 2)), when(0, 4));
    ASSERT_FALSE(m.woken.empty());
    EXPECT_EQ(m.woken.back(), std::pair(0, 4));
    EXPECT_EQ(m.woken.size(), 7U);
}

/// I1 and I2 of src/policy/parts/almost_deterministic_stealing.hpp.
TEST(adws, theorems_hold_on_random_programs) {
    fake_context draw(1, 4711);
    for (int round = 0; round < 300; ++round) {
        program p(1);
        const std::size_t size = 5 + draw.random(0, 60);
        for (std::size_t i = 1; i < size; ++i) {
            p.emplace_back();
            auto& parent = p[draw.random(0, static_cast<std::uint32_t>(i))].groups;
            if (parent.empty() || (parent.size() < 3 && draw.random(0, 4) == 0)) parent.emplace_back();
            parent.back().push_back(i);
            p[i].work = draw.random(0, 5) == 0 ? 1e-9 : 1. + draw.random(0, 10);
            p[i].cost = 1 + static_cast<int>(draw.random(0, 30));
        }
        const int workers = 2 + static_cast<int>(draw.random(0, 12));
        for (const std::string spec : {"adws:zone=reported", "adws:zone=reported,steal=off"}) {
            machine_of_steps m(spec, workers, p, static_cast<std::uint32_t>(round)),
                again(spec, workers, p, 99);
            m.run();
            again.run();
            if (spec.ends_with("off")) { EXPECT_EQ(m.ran_on, again.ran_on); }
            if (testing::Test::HasFailure()) FAIL() << spec << ", round " << round << ", workers " << workers;
        }
    }
}

} // namespace
} // namespace weft
