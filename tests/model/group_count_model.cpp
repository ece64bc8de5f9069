// Model check of the count of open children in a group, rules G1 to G3 of weft/impl/group.hpp. Leaving,
// counting down and looking are the engine's own steps (engine/run/group_count.hpp); handing out is copied
// from src/engine/threads/exposure.cpp.
#include <memory>

#include "relacy_run.hpp"

#include "engine/run/group_count.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

// Mistakes in the order of steps.
constexpr const char* unnamed = "the waiter stores itself after its decrement";
constexpr const char* early = "the waiter published before it is saved";
constexpr const char* uncounted = "a child counted after it was handed out";
constexpr const char* ownerless = "no count for the wait still to come";

// The owner hands out three children to two thieves, of which the second refuses at first, and waits; and all
// that again. The first thief runs two of them and counts both down in bulk.
struct children : rl::test_suite<children, 3> {
    static constexpr int rounds = 2, count = 3;

    struct state {
        sync::atomic<std::int64_t> open_{1};
        sync::atomic<std::uintptr_t> waiter_{0};
        sync::atomic<std::uint32_t> handed_out[count];
        sync::var<int> result[count];
        sync::var<int> saved; // the waiter's context
        sync::atomic<std::uint32_t> resumed{0};
        int woken = 0; // the threads of a model take turns on one real thread
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        for (auto& h : all->handed_out) h.store(0, order::relaxed);
        if (made(ownerless)) all->open_.store(0, order::relaxed);
    }
    void after() {
        RL_ASSERT(all->open_.load(order::relaxed) == 1);
        all.reset();
    }

    void expose_to_askers(int child, int round) {
        if (!made(uncounted)) all->open_.fetch_add(1, order::relaxed);
        all->handed_out[child].store(static_cast<std::uint32_t>(round) + 1, order::release);
        if (made(uncounted)) all->open_.fetch_add(1, order::relaxed);
    }
    void refuse() {
        all->open_.fetch_add(1, order::relaxed);
        all->open_.fetch_sub(1, order::relaxed);
    }
    /// Called by the thread that brought the count to 0.
    void wake() {
        RL_ASSERT(++all->woken == 1);
        const std::uintptr_t found = all->waiter_.load(order::relaxed);
        RL_ASSERT(found == 8);
        RL_ASSERT(all->saved.get() != 0);
        all->saved.set(0);
        all->resumed.store(1, order::release);
    }
    void run(int child, int round) {
        while (all->handed_out[child].load(order::acquire) != static_cast<std::uint32_t>(round) + 1)
            sync::yield();
        all->result[child].set(round + 1);
    }
    void children_done(int ended) {
        if (engine::count_children_down(*all, ended)) wake();
    }
    void sleep_in_group() {
        if (!made(early)) all->saved.set(1);
        if (made(unnamed)) {
            const bool last = engine::count_children_down(*all, 1);
            all->waiter_.store(8, order::relaxed);
            if (last) wake();
        } else if (engine::leave_to_children(*all, 8)) {
            wake();
        }
        if (made(early)) all->saved.set(1);
        while (all->resumed.load(order::acquire) == 0) sync::yield();
        all->resumed.store(0, order::relaxed);
        all->woken = 0;
        engine::reopen(*all);
        all->waiter_.store(0, order::relaxed);
    }

    void thread(unsigned me) {
        for (int round = 0; round < rounds; ++round) {
            if (me == 2) {
                expose_to_askers(0, round);
                refuse();
                expose_to_askers(1, round);
                expose_to_askers(2, round);
                if (engine::has_open_children(*all)) sleep_in_group();
                for (int child = 0; child < count; ++child) {
                    RL_ASSERT(all->result[child].get() == round + 1);
                    all->result[child].set(0);
                }
            } else if (me == 1) {
                run(1, round);
                children_done(1);
            } else {
                run(0, round);
                run(2, round);
                children_done(2);
            }
        }
    }
};

constexpr scenario scenarios[] = {
    {"children, bounded", 0, search<children>},
    {"children", 100000, search<children>},
};

constexpr mutant mutants[] = {
    {"a child counts down relaxed", operation::fetch, order::acq_rel, words::numbers, "count_children_down(",
     mistake::relax},
    {"a child counts down in two steps", operation::fetch, order::acq_rel, words::numbers,
     "count_children_down(", mistake::tear},
    {"the waiter leaves relaxed", operation::fetch, order::acq_rel, words::numbers, "leave_to_children(",
     mistake::relax},
    {"the waiter leaves in two steps", operation::fetch, order::acq_rel, words::numbers, "leave_to_children(",
     mistake::tear},
    {"the look before the wait relaxed", operation::load, order::acquire, words::numbers,
     "has_open_children(", mistake::relax},
    {"handing out counts in two steps", operation::fetch, order::relaxed, words::numbers,
     "::expose_to_askers(", mistake::tear},
    {unnamed, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {uncounted, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {ownerless, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
