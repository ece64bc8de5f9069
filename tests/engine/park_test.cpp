// A worker on its way to sleep finds a task in its last look while a victim answers its request: the worker
// keeps both tasks. A policy made for this test brings the two together.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include <sched.h>

#include "engine/bare_engine.hpp"

namespace weft {
namespace {

using clock_type = std::chrono::steady_clock;

template <class Condition>
bool wait_for(Condition&& condition, std::chrono::milliseconds limit) {
    const auto until = clock_type::now() + limit;
    while (!condition()) {
        if (clock_type::now() > until) return condition();
        sched_yield(); // where a sanitizer delivers signals
    }
    return true;
}

/// As `steal`, but a worker that finds a root that arrived while `keeps` was set gets it only in its last
/// look, and, if an answer comes, only after that answer.
struct late_finder final : policy {
    requirements attach(const machine& m, policy_context& c) override {
        context = &c;
        return base->attach(m, c);
    }
    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (reason != ready_reason::root || !keeps.load()) return base->ready(w, t, reason);
        finder = w;
        kept.store(&t);
        return {0, context->all()};
    }
    decision next(worker_id w, bool last_look) override {
        if (!last_look || !kept.load() || w != finder) return base->next(w, last_look);
        auto& slot = of.load()->all_workers[static_cast<std::size_t>(w)]->slot;
        if (wait_for([&] { return slot.has_answer(); }, std::chrono::milliseconds(200))) ++both;
        return {kept.exchange(nullptr), w, false};
    }
    workers victims(worker_id w) override { return base->victims(w); }

    std::unique_ptr<policy> base = make_policy("steal");
    policy_context* context = nullptr;
    std::atomic<engine::thread_engine*> of{nullptr};
    std::atomic<bool> keeps{false};
    std::atomic<task*> kept{nullptr};
    std::atomic<worker_id> finder{0}; ///< the one that does not run the first root
    std::atomic<int> both{0};
};

template <class F>
void run_root(engine::engine& e, F& f) {
    engine::run_root(e, {[](void* c) { (*static_cast<F*>(c))(); }, &f});
}

TEST(park, an_answer_beside_a_task_is_kept) {
    auto made = std::make_unique<late_finder>();
    late_finder& p = *made;
    auto options = test::options_of(2);
    options.spin_time = std::chrono::nanoseconds(0); // asks in its sleep only
    engine::thread_engine e(std::move(made), load_machine(""), options);
    p.of = &e;
    std::atomic<int> second{0};
    auto root = [&] {
        std::atomic<bool> ran{false};
        auto other = [&] { ran = true; };
        p.keeps = true;
        std::thread outside([&] { run_root(e, other); });
        EXPECT_TRUE(wait_for([&] { return p.kept.load() != nullptr; }, std::chrono::seconds(10)));
        // The other worker is about to park. The frame goes to it, by the fork or by the signal.
        join([&] { EXPECT_TRUE(wait_for([&] { return ran.load(); }, std::chrono::seconds(10))); },
             [&] { ++second; });
        p.keeps = false;
        outside.join();
    };
    for (int round = 1; round <= 20; ++round) {
        run_root(e, root);
        EXPECT_EQ(second.load(), round);
    }
    EXPECT_GT(p.both.load(), 0) << "never was there an answer beside a task";
}

/// Of three workers one spawns two children. Another one, the mover, gets the first of them, and the second is
/// put into its own place after the third worker has gone to sleep.
struct late_mover final : policy {
    requirements attach(const machine& m, policy_context& c) override {
        context = &c;
        return base->attach(m, c);
    }
    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (reason != ready_reason::spawned) return base->ready(w, t, reason);
        if (!first.load()) {
            first = &t;
        } else {
            second = &t;
            mover = (w + 1) % 3;
            context->wake(context->all()); // they look, and only the mover finds something
        }
        return {0, {}};
    }
    decision next(worker_id w, bool last_look) override {
        if (w != mover.load() || !second.load()) return base->next(w, last_look);
        const auto third = static_cast<std::uint32_t>((w + 1) % 3);
        is_asleep = wait_for([&] { return of.load()->parked.contains(third); }, std::chrono::seconds(10));
        base->ready(w, *second.exchange(nullptr), ready_reason::spawned);
        return {.t = first.exchange(nullptr), .from = (w + 2) % 3, .moved = 1};
    }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    std::unique_ptr<policy> base = make_policy("steal-parent-first");
    policy_context* context = nullptr;
    std::atomic<engine::thread_engine*> of{nullptr};
    std::atomic<task*> first{nullptr}, second{nullptr};
    std::atomic<worker_id> mover{-1};
    std::atomic<bool> is_asleep{false};
};

TEST(park, a_task_that_a_look_has_moved_wakes_a_sleeper) {
    auto made = std::make_unique<late_mover>();
    late_mover& p = *made;
    auto options = test::options_of(3);
    options.spin_time = std::chrono::nanoseconds(0);
    engine::thread_engine e(std::move(made), load_machine(""), options);
    p.of = &e;
    std::atomic<bool> ran{false};
    const auto second_runs = [&] { return wait_for([&] { return ran.load(); }, std::chrono::seconds(10)); };
    auto root = [&] {
        task_group g;
        g.run([&] { EXPECT_TRUE(second_runs()); }); // on the mover
        g.run([&] { ran = true; });
        EXPECT_TRUE(second_runs()); // this worker is busy as well
        g.wait();
    };
    run_root(e, root);
    EXPECT_TRUE(p.is_asleep.load());
}

/// Worker 1 is held in its last look before it parks, until `released`.
struct held_before_it_parks final : policy {
    requirements attach(const machine& m, policy_context& c) override {
        requirements need = base->attach(m, c);
        need.resizable = true;
        return need;
    }
    placement ready(worker_id w, task& t, ready_reason reason) override { return base->ready(w, t, reason); }
    decision next(worker_id w, bool last_look) override {
        if (w != 1 || !armed.load()) return base->next(w, last_look);
        if (last_look) {
            ++last_looks;
        } else if (++looks == 2) { // the first one belongs to the end of its task
            held = true;
            wait_for([&] { return released.load(); }, std::chrono::seconds(10));
        }
        return {};
    }
    workers victims(worker_id w) override { return base->victims(w); }

    std::unique_ptr<policy> base = make_policy("steal:wide=steal");
    std::atomic<bool> armed{false}, held{false}, released{false};
    std::atomic<int> looks{0}, last_looks{0};
};

TEST(park, a_worker_that_became_inactive_on_its_way_does_not_park) {
    auto made = std::make_unique<held_before_it_parks>();
    held_before_it_parks& p = *made;
    auto options = test::options_of(2);
    options.spin_time = std::chrono::nanoseconds(0); // one look, then it parks
    engine::thread_engine e(std::move(made), load_machine(""), options);
    const auto part = [&] {
        if (impl::hot_self()->id == 1) {
            p.armed = true; // its next looks are for something else to do
            return;
        }
        EXPECT_TRUE(wait_for([&] { return p.held.load(); }, std::chrono::seconds(10)));
        e.set_active(1);
        p.released = true;
        EXPECT_TRUE(
            wait_for([&] { return e.all_workers[1]->count.asleep.is_open(); }, std::chrono::seconds(10)));
        EXPECT_FALSE(e.parked.contains(1)) << "wake-ups would be wasted on it";
        EXPECT_EQ(p.last_looks, 0) << "it would run what it found";
    };
    std::atomic<bool> taken{false};
    auto root = [&] { // each of the two workers runs a part
        join(
            [&] {
                EXPECT_TRUE(wait_for([&] { return taken.load(); }, std::chrono::seconds(10)));
                part();
            },
            [&] {
                taken = true;
                part();
            });
    };
    run_root(e, root);
    EXPECT_TRUE(p.held);
}

} // namespace
} // namespace weft
