// The five basic policies without an engine: in which order they hand out tasks, where they look, and that no
// task starves.
#include "policy/example_policy.hpp"
#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::fake_context;
using test::tree_walk;

/// Cores that are all alike and equally near.
machine flat_machine(int cores) {
    machine_parts parts;
    for (int i = 0; i < cores; ++i) parts.cores.push_back({.physical_core = i});
    parts.core_classes.emplace_back();
    parts.memory_nodes.push_back({.ranks = {0, cores}});
    return machine(std::move(parts));
}

/// A policy that is attached to `workers` workers, each on a core of its own.
struct driven {
    driven(const std::string& spec, int workers, std::uint32_t seed = 1)
        : context(workers, seed)
        , scheduler(make_policy(spec)) {
        need = scheduler->attach(flat_machine(workers), context);
    }
    policy* operator->() const { return scheduler.get(); }

    /// A new task that is ready at `w`.
    task& add(worker_id w, ready_reason reason) {
        task& t = tasks.emplace_back();
        scheduler->ready(w, t, reason);
        return t;
    }

    fake_context context;
    requirements need;
    std::unique_ptr<policy> scheduler;
    std::deque<test::task_with_bytes> tasks;
};

// ---- the vectors of Chen & Guo 2017, Fig. 3.10: t0 spawns t1; t1 t2, t3; t2 t4, t5; t3 t6, t7

const tree_walk::tree book_tree = {{1}, {2, 3}, {4, 5}, {6, 7}, {}, {}, {}, {}};
using order_of_start = std::vector<int>;

order_of_start walk(const std::string& spec) {
    const driven p(spec, 1);
    return tree_walk(book_tree).run(*p.scheduler);
}

TEST(policy_order, book_vectors) {
    EXPECT_EQ(walk("steal:zone=reported"), (order_of_start{0, 1, 2, 4, 5, 3, 6, 7}));
    EXPECT_EQ(walk("steal-parent-first:order=fifo"), (order_of_start{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(walk("steal-parent-first"), (order_of_start{0, 1, 3, 7, 6, 2, 5, 4}));
    EXPECT_EQ(walk("share"), (order_of_start{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(walk("share:order=lifo"), (order_of_start{0, 1, 3, 7, 6, 2, 5, 4}));
    EXPECT_EQ(walk("mts"), (order_of_start{0, 1, 3, 7, 6, 2, 5, 4}));
    for (const char* const serial : {"slaw", "mts:spawn=child-first", "pdf", "cpdf"})
        EXPECT_EQ(walk(serial), (order_of_start{0, 1, 2, 4, 5, 3, 6, 7})) << serial;
}

TEST(policy_order, what_each_policy_needs) {
    for (const char* const spec : {"steal", "near", "serial"}) EXPECT_TRUE(driven(spec, 2).need.lazy) << spec;
    for (const char* const spec : {"steal:zone=reported", "steal-parent-first", "share"}) {
        EXPECT_FALSE(driven(spec, 2).need.lazy) << spec;
        EXPECT_TRUE(driven(spec, 2).need.demotable) << spec;
    }
    for (const char* const spec : {"steal", "near", "steal-parent-first", "share"}) {
        EXPECT_TRUE(driven(spec, 2).need.resizable) << spec;
    }
    EXPECT_FALSE(driven("serial", 2).need.resizable);
}

// ---- looking elsewhere

TEST(policy_order, owner_takes_the_youngest_and_a_thief_the_oldest) {
    for (const char* const spec : {"steal", "near", "steal-parent-first"}) {
        driven p(spec, 2);
        task& oldest = p.add(0, ready_reason::spawned);
        task& middle = p.add(0, ready_reason::spawned);
        task& youngest = p.add(0, ready_reason::spawned);
        const decision stolen = p->next(1, false);
        EXPECT_EQ(stolen.t, &oldest) << spec;
        EXPECT_EQ(stolen.from, 0) << spec;
        EXPECT_EQ(p->next(0, false).t, &youngest) << spec;
        EXPECT_EQ(p->next(0, false).t, &middle) << spec;
        EXPECT_EQ(p->next(0, false).t, nullptr) << spec;
    }
    driven p("steal-parent-first:order=fifo", 2);
    task& oldest = p.add(0, ready_reason::spawned);
    task& youngest = p.add(0, ready_reason::spawned);
    EXPECT_EQ(p->next(0, false).t, &oldest);
    EXPECT_EQ(p->next(1, false).t, &youngest);
}

TEST(policy_order, victims_are_drawn_among_all_others) {
    driven p("steal", 4);
    p.context.draws = {0, 1, 2};
    for (const worker_id expected : {0, 1, 3}) { // 2 is the thief
        const decision nothing = p->next(2, false);
        EXPECT_EQ(nothing.t, nullptr);
        EXPECT_TRUE(nothing.ask);
        EXPECT_EQ(nothing.from, expected);
    }
    EXPECT_EQ(p.context.bounds, (std::vector<std::uint32_t>{3, 3, 3}));
    EXPECT_EQ(p->victims(2).size(), 4);
}

TEST(policy_order, one_look_a_call_and_the_last_one_is_everywhere) {
    for (const char* const spec : {"steal", "near:tries=1000", "steal-parent-first"}) {
        driven p(spec, 4);
        task& hidden = p.add(3, ready_reason::spawned);
        p.context.draws = {0, 1, 0}; // workers 1 and 2, both empty
        for (const worker_id looked_at : {1, 2}) {
            const decision nothing = p->next(0, false);
            EXPECT_EQ(nothing.t, nullptr) << spec;
            EXPECT_EQ(nothing.from, looked_at) << spec;
            EXPECT_EQ(nothing.ask, std::string(spec) != "steal-parent-first") << spec;
        }
        const decision found = p->next(0, true);
        EXPECT_EQ(found.t, &hidden) << spec;
        EXPECT_EQ(found.from, 3) << spec;
        const decision nothing = p->next(0, true);
        EXPECT_EQ(nothing.t, nullptr) << spec;
        EXPECT_FALSE(nothing.ask) << spec;
    }
}

/// R3 of src/policy/parts/places.hpp.
TEST(policy_order, the_last_look_leaves_out_no_worker) {
    constexpr int workers = 4;
    for (const char* const spec : {"steal", "near", "steal-parent-first", "share"}) {
        for (worker_id w = 0; w < workers; ++w) {
            for (worker_id holder = 0; holder < workers; ++holder) {
                for (std::uint32_t drawn = 0; drawn + 1 < workers; ++drawn) {
                    for (const ready_reason reason :
                         {ready_reason::spawned, ready_reason::yielded, ready_reason::root}) {
                        driven p(spec, workers);
                        task& hidden = p.add(holder, reason);
                        p.context.draws = {drawn};
                        EXPECT_EQ(p->next(w, true).t, &hidden)
                            << spec << ' ' << w << ' ' << holder << ' ' << drawn;
                    }
                }
            }
        }
    }
}

TEST(policy_order, a_worker_alone_looks_nowhere) {
    for (const char* const spec : {"steal", "near", "steal-parent-first", "share", "serial"}) {
        driven p(spec, 1);
        for (const bool last_look : {false, true}) {
            const decision nothing = p->next(0, last_look);
            EXPECT_EQ(nothing.t, nullptr) << spec;
            EXPECT_FALSE(nothing.ask) << spec;
        }
        EXPECT_TRUE(p.context.bounds.empty()) << spec;
    }
}

TEST(policy_order, an_exposed_frame_is_what_its_thief_runs_next) {
    for (const char* const spec : {"steal", "near"}) {
        driven p(spec, 2);
        p.add(1, ready_reason::root);
        p.add(1, ready_reason::yielded);
        task& frame = p.add(1, ready_reason::exposed);
        EXPECT_EQ(p->next(1, false).t, &frame) << spec;
    }
}

TEST(policy_order, what_an_inactive_worker_left_behind_is_found) {
    for (const char* const spec : {"steal", "near", "steal-parent-first"}) {
        driven p(spec, 4);
        task& left = p.add(3, ready_reason::spawned);
        task& yielded = p.add(3, ready_reason::yielded);
        p.context.active_workers = 1;
        EXPECT_EQ(p->next(0, true).t, &left) << spec;
        EXPECT_EQ(p->next(0, true).t, &yielded) << spec;
    }
}

// ---- what must not starve: each of these for every policy that users may choose

class policy_order_fairness : public testing::TestWithParam<const char*> {
protected:
    static constexpr int patience = 1000; ///< more turns than any rule of fairness takes
};

/// R1 of src/policy/parts/places.hpp. A worker whose own work never runs dry still comes to a root, and to a
/// task that yielded. But `serial` finishes what is open before it begins another root.
TEST_P(policy_order_fairness, a_busy_worker_comes_to_what_waits) {
    for (const ready_reason reason : {ready_reason::root, ready_reason::yielded}) {
        driven p(GetParam(), 1);
        task& waiting = p.add(0, reason);
        task& a = p.add(0, ready_reason::spawned);
        task& b = p.add(0, ready_reason::spawned);
        bool came = false;
        for (int turn = 0; turn < patience && !came; ++turn) {
            task* const t = p->next(0, false).t;
            came = t == &waiting;
            ASSERT_TRUE(came || t == &a || t == &b);
            if (!came) p->ready(0, *t, ready_reason::continuation);
        }
        EXPECT_EQ(came, std::string(GetParam()) != "serial");
    }
}

/// I2 of src/policy/pdf.cpp, and R1 of src/policy/parts/places.hpp: if roots and yielded tasks keep coming,
/// each kind still gets its turns.
TEST_P(policy_order_fairness, neither_roots_nor_yielded_tasks_starve_the_other) {
    driven p(GetParam(), 1);
    std::vector<task*> roots, yielded;
    for (int i = 0; i < 3; ++i) roots.push_back(&p.add(0, ready_reason::root));
    for (int i = 0; i < 3; ++i) yielded.push_back(&p.add(0, ready_reason::yielded));
    std::vector<int> runs(6, 0);
    for (int turn = 0; turn < patience; ++turn) {
        task* const t = p->next(0, true).t;
        ASSERT_NE(t, nullptr);
        const auto root = std::find(roots.begin(), roots.end(), t);
        if (root != roots.end()) {
            ++runs[static_cast<std::size_t>(root - roots.begin())];
            p->ready(0, *t, ready_reason::root);
        } else {
            ++runs[3 +
                   static_cast<std::size_t>(std::find(yielded.begin(), yielded.end(), t) - yielded.begin())];
            p->ready(0, *t, ready_reason::yielded);
        }
    }
    for (std::size_t i = 0; i < runs.size(); ++i)
        EXPECT_GT(runs[i], 0) << (i < 3 ? "root " : "yielded ") << i % 3;
}

TEST_P(policy_order_fairness, a_yielded_task_goes_behind_the_others) {
    driven p(GetParam(), 1);
    task& other = p.add(0, ready_reason::spawned);
    task& root = p.add(0, ready_reason::root);
    task& first = p.add(0, ready_reason::yielded);
    task& second = p.add(0, ready_reason::yielded);
    EXPECT_EQ(p->next(0, false).t, &other);
    // Where the owner takes its oldest, behind is the end of the deque, and only the deque is before the
    // roots.
    const bool deque_is_fifo = std::string(GetParam()) == "steal-parent-first:order=fifo";
    if (!deque_is_fifo) { EXPECT_EQ(p->next(0, false).t, &root); }
    EXPECT_EQ(p->next(0, false).t, &first);
    EXPECT_EQ(p->next(0, false).t, &second);
    if (deque_is_fifo) { EXPECT_EQ(p->next(0, false).t, &root); }
}

TEST_P(policy_order_fairness, roots_are_taken_in_their_order) {
    driven p(GetParam(), 1);
    std::vector<task*> roots;
    for (int i = 0; i < 5; ++i) roots.push_back(&p.add(0, ready_reason::root));
    for (task* const root : roots) EXPECT_EQ(p->next(0, false).t, root);
}

/// R2 of src/policy/parts/places.hpp. Two tasks yield to each other until a third, which only another worker
/// has, has run.
TEST_P(policy_order_fairness, spinning_by_yield_lets_the_worker_look_elsewhere) {
    driven p(GetParam(), 2);
    p.add(0, ready_reason::yielded);
    p.add(0, ready_reason::yielded);
    task& awaited = p.add(1, ready_reason::spawned);
    for (int turn = 0; turn < patience; ++turn) {
        task* const t = p->next(0, false).t;
        if (t == &awaited) return;
        if (t != nullptr) p->ready(0, *t, ready_reason::yielded);
    }
    FAIL() << "never came to the task that both wait for";
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(policies, policy_order_fairness, testing::Values(
    "serial",
    "steal",
    "steal:zone=reported",
    "near",
    "steal-parent-first",
    "steal-parent-first:order=fifo",
    "share",
    "share:order=lifo",
    "slaw",
    "mts",
    "mts:spawn=child-first",
    "pws",
    "hws",
    "hws:leader=helps",
    "pdf",
    "cpdf",
    "cab",
    "cab:boundary=2,socket=1",
    "static",
    "dynamic",
    "constrained",
    "laws",
    "laws-nc",
    "adws",
    "ml-adws",
    "snatch:zone=reported",
    "camp",
    "bias",
    "ljfcf",
    "speed",
    "acs",
    "bis",
    "ml-steal",
    "ml-steal:zone=reported",
    "sb",
    "random-push",
    "chs",
    "cls",
    "crs",
    "tatl",
    "offline",
    "numalb",
    "aats",
    "optimal",
    "hybrid",
    "auto:memory=off"));
// clang-format on

// ---- one by one

TEST(policy_order, steal_starts_roots_before_it_steals) {
    driven p("steal", 2);
    p.add(0, ready_reason::spawned);
    task& root = p.add(0, ready_reason::root);
    const decision got = p->next(1, false);
    EXPECT_EQ(got.t, &root);
    EXPECT_EQ(got.from, 2); // the place of all
}

TEST(policy_order, share_is_one_place_for_all) {
    driven p("share", 3);
    task t;
    const placement at = p->ready(1, t, ready_reason::spawned);
    EXPECT_EQ(at.who.size(), 3);
    const decision got = p->next(2, false);
    EXPECT_EQ(got.t, &t);
    EXPECT_EQ(got.from, at.at);
    p.context.active_workers = 2;
    EXPECT_EQ(p->ready(1, t, ready_reason::joined).who.size(), 2);
}

TEST(policy_order, serial_runs_on_worker_0_and_finishes_what_is_open_first) {
    driven p("serial", 3);
    task root[2], frame[2];
    EXPECT_EQ(p->ready(2, root[0], ready_reason::root).who.size(), 1);
    p->ready(0, root[1], ready_reason::root);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    EXPECT_EQ(p->next(0, true).t, &root[0]);
    // It blocks: its hidden frames come oldest first, and the
    // youngest is what a serial program would run next.
    p->ready(0, frame[0], ready_reason::exposed);
    p->ready(0, frame[1], ready_reason::exposed);
    EXPECT_EQ(p->next(0, true).t, &frame[1]);
    EXPECT_EQ(p->next(0, true).t, &frame[0]);
    p->ready(1, root[0],
             ready_reason::unblocked); // by a worker that does not run tasks
    EXPECT_EQ(p->next(0, true).t, &root[0]);
    EXPECT_EQ(p->next(0, true).t, &root[1]);
    EXPECT_TRUE(p->victims(0).empty());
}

// ---- the same seed, the same decisions

/// Runs a random tree on virtual workers that step in turn. Gives
/// one line a decision, and fails if a task does not start exactly
/// once.
std::string simulate(const std::string& spec, std::uint32_t seed) {
    struct node {
        task record;
        std::vector<std::size_t> children;
        std::size_t spawned = 0;
        int left = 1; ///< steps
        int starts = 0;
    };
    constexpr int workers = 4;
    constexpr std::size_t size = 300;
    driven p(spec, workers, seed);
    fake_context shape(1, 42); // always the same tree
    std::deque<node> nodes(size);
    for (std::size_t i = 1; i < size; ++i) {
        nodes[shape.random(0, static_cast<std::uint32_t>(i))].children.push_back(i);
        nodes[i].left = 1 + static_cast<int>(shape.random(0, 5));
    }
    const auto number = [&](const task* t) {
        std::size_t i = 0;
        while (&nodes[i].record != t) ++i;
        return i;
    };

    std::string log;
    std::vector<task*> running(workers, nullptr);
    std::size_t done = 0;
    p->ready(0, nodes[0].record, ready_reason::root);
    for (int step = 0; step < 100000 && done < size; ++step) {
        const worker_id w = step % workers;
        task*& current = running[static_cast<std::size_t>(w)];
        if (current == nullptr) {
            const decision got = p->next(w, step % 3 == 0);
            log += std::to_string(w) + "<" + std::to_string(got.from) + (got.t ? "" : "-") + "\n";
            current = got.t;
            if (current == nullptr) continue;
        }
        node& at = nodes[number(current)];
        if (current->fresh()) {
            ++at.starts;
            current->state_ = task_state::running;
            log += "start " + std::to_string(number(current)) + "\n";
        }
        if (at.spawned < at.children.size()) {
            task& child = nodes[at.children[at.spawned++]].record;
            if (p->spawn(w, *current, child) == spawn_order::child_first) {
                p->ready(w, *current, ready_reason::continuation);
                current = &child;
            } else {
                p->ready(w, child, ready_reason::spawned);
            }
        } else if (--at.left == 0) {
            ++done;
            current = nullptr;
        }
    }
    EXPECT_EQ(done, size) << spec;
    for (const node& n : nodes) EXPECT_EQ(n.starts, 1) << spec;
    return log;
}

TEST(policy_order, decisions_follow_the_seed) {
    for (const std::string spec :
         {"steal:zone=reported", "steal-parent-first", "steal-parent-first:order=fifo"}) {
        EXPECT_EQ(simulate(spec, 7), simulate(spec, 7)) << spec;
        EXPECT_NE(simulate(spec, 7), simulate(spec, 8)) << spec;
    }
    for (const std::string spec : {"share", "share:order=lifo"}) { // nothing is drawn
        EXPECT_EQ(simulate(spec, 7), simulate(spec, 8)) << spec;
    }
}

TEST(policy_order, the_example_goes_back_to_the_last_victim) {
    fake_context context(3);
    const knob_values values("last-victim", policies::last_victim_entry.knobs, "patience=2");
    const auto p = policies::last_victim_entry.make(values);
    p->attach(flat_machine(3), context);
    std::deque<task> tasks(4);
    for (int i = 0; i < 3; ++i) p->ready(2, tasks[static_cast<std::size_t>(i)], ready_reason::spawned);
    context.draws = {1, 0};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(p->next(0, false).t,
                                                  &tasks[i]); // one draw, worker 2
    EXPECT_EQ(p->next(0, false).from, 2);
    EXPECT_EQ(p->next(0, false).from, 2);
    EXPECT_EQ(context.draws.size(), 1U);
    EXPECT_EQ(p->next(0, false).from, 1); // out of patience
    p->ready(2, tasks[3], ready_reason::spawned);
    EXPECT_EQ(p->next(0, true).t, &tasks[3]);
}

} // namespace
} // namespace weft
