// A thief has taken the continuation of a parent, which lies in the fiber of the child, and has not read it yet. The child
// ends meanwhile: its worker waits until the thief has read, since the fiber would run other code.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>

#include <sched.h>

#include "engine/bare_engine.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"

namespace weft {
namespace {

template <class Condition>
bool wait_for(Condition&& condition, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return condition();
        sched_yield(); // where a sanitizer delivers signals
    }
    return true;
}

/// `steal`, and a count of the looks for work that one worker makes.
struct counted_looks final : policy {
    requirements attach(const machine& m, policy_context& c) override { return base->attach(m, c); }
    placement ready(worker_id w, task& t, ready_reason reason) override { return base->ready(w, t, reason); }
    decision next(worker_id w, bool last_look) override {
        if (w == of.load()) ++looks;
        return base->next(w, last_look);
    }
    workers victims(worker_id w) override { return base->victims(w); }

    std::unique_ptr<policy> base = make_policy("steal:wide=steal");
    std::atomic<worker_id> of{-1};
    std::atomic<int> looks{0};
};

TEST(handover, a_child_that_ends_waits_until_the_thief_has_read) {
    auto made = std::make_unique<counted_looks>();
    counted_looks& p = *made;
    engine::thread_engine e(std::move(made), load_machine(""), test::options_of(2));
    std::atomic<engine::thread_worker*> victim{nullptr};
    std::atomic<bool> asked{false}, taken{false};
    std::atomic<int> ran{0};

    const auto here = [&]() -> engine::thread_worker& {
        return *e.all_workers[static_cast<std::size_t>(impl::hot_self()->id)];
    };
    const auto parent = [&] {
        p.of = here().id;
        victim = &here();
        task_group g;
        g.run([&] {
            EXPECT_TRUE(wait_for([&] { return asked.load(); }));
            // The next fork answers with the oldest hidden entry, the rest of this child's parent.
            wait_for([&] {
                join([] {}, [] {});
                return taken.load();
            });
            ++ran;
        });
        ++ran; // on the thief
        g.wait();
    };
    const auto thief = [&] {
        EXPECT_TRUE(wait_for([&] { return victim.load() != nullptr; }));
        engine::thread_worker& me = here();
        e.begin_ask(me, *victim);
        asked = true;
        EXPECT_TRUE(wait_for([&] {
            e.mark(*victim); // the victim may have overwritten the request
            return me.slot.has_answer();
        }));
        impl::frame* const entry = me.slot.take();
        p.looks = 0;
        taken = true;
        EXPECT_TRUE(entry);
        if (!entry) return;
        EXPECT_FALSE(wait_for([&] { return p.looks > 0; }, std::chrono::milliseconds(100)))
            << "its fiber looks for other work, and the thief reads what lies there then";
        engine::worker& w = engine::enter_runtime();
        engine::offer(w, engine::task_of_frame(w, *entry), ready_reason::exposed);
        engine::leave_runtime();
    };
    std::atomic<bool> begun{false};
    auto root = [&] { // each of the two workers runs one of the closures
        join(
            [&] {
                EXPECT_TRUE(wait_for([&] { return begun.load(); }));
                parent();
            },
            [&] {
                begun = true;
                thief();
            });
    };
    engine::run_root(e, {[](void* c) { (*static_cast<decltype(root)*>(c))(); }, &root});
    EXPECT_EQ(ran, 2);
}

} // namespace
} // namespace weft
