// Model check of the ask slot: an entry that was answered belongs to exactly one side, and the side that gets
// it sees all of it, also what its owner keeps for the asker beside it.
#include <memory>

#include "relacy_run.hpp"

#include "engine/idle/ask_slot.hpp"

namespace weft::model {
namespace {

using slot_type = engine::ask_slot<relacy_sync>;

struct entry : impl::frame {
    relacy_sync::var<int> payload;
    int ran = 0; // the threads of a model take turns on one real thread
};

template <class Derived, int Threads, int Entries>
struct slot_test : rl::test_suite<Derived, Threads> {
    struct state {
        slot_type slot;
        entry entries[Entries];
        relacy_sync::var<int> given[Threads]; ///< by each thread to the asker, beside the entry
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        RL_ASSERT(all->slot.is_idle());
        for (const entry& each : all->entries) RL_ASSERT(each.ran == 1);
        all.reset();
    }
    /// Asker: what it has got.
    void receive(impl::frame* f) {
        RL_ASSERT(all->given[f->thief].get() == static_cast<int>(static_cast<entry*>(f) - all->entries) + 1);
        run(f);
    }
    void run(impl::frame* f) {
        auto& e = *static_cast<entry*>(f);
        RL_ASSERT(e.payload.get() == static_cast<int>(&e - all->entries) + 1);
        e.payload.set(0);
        RL_ASSERT(++e.ran == 1);
    }
    /// Answers with an entry; runs it itself if no worker asks, or if it reclaims it.
    void offer(int victim, int which, int looks) {
        entry& e = all->entries[which];
        e.payload.set(which + 1);
        for (int look = 0; look < looks; ++look) {
            if (!all->slot.is_asked(victim)) continue;
            e.thief = victim; // here: the worker that gives it
            all->given[victim].set(which + 1);
            if (all->slot.answer(victim, &e)) {
                relacy_sync::pause();
                if (all->slot.reclaim(&e)) run(&e);
                return;
            }
        }
        run(&e);
    }
    void look_and_give_up() {
        for (int look = 0; look < 2; ++look) {
            if (impl::frame* const f = all->slot.take()) return receive(f);
            relacy_sync::pause();
        }
        if (impl::frame* const f = all->slot.withdraw()) receive(f);
    }
};

// One victim is asked twice; it has two entries.
struct one_victim : slot_test<one_victim, 2, 2> {
    void thread(unsigned me) {
        if (me == 0) {
            for (int round = 0; round < 2; ++round) {
                all->slot.ask(1);
                look_and_give_up();
            }
        } else {
            offer(1, 0, 2);
            offer(1, 1, 2);
        }
    }
};

// Two victims answer an ask to any worker at once. Then only one of them is asked.
struct two_victims : slot_test<two_victims, 3, 2> {
    void thread(unsigned me) {
        if (me == 0) {
            all->slot.ask_any();
            look_and_give_up();
            all->slot.ask(1);
            look_and_give_up();
        } else {
            offer(static_cast<int>(me), static_cast<int>(me) - 1, 3);
        }
    }
};

constexpr scenario scenarios[] = {
    {"one_victim, bounded", 0, search<one_victim>},
    {"one_victim", 100000, search<one_victim>},
    {"two_victims", 100000, search<two_victims>},
};

using order = std::memory_order;
constexpr mutant mutants[] = {
    {"answer publishes relaxed", operation::compare_exchange, order::acq_rel, words::numbers, "::answer(",
     mistake::relax},
    {"is_asked relaxed", operation::load, order::acquire, words::numbers, "::is_asked(", mistake::relax},
    {"ask relaxed", operation::store, order::release, words::numbers, "::store(", mistake::relax},
    {"take relaxed", operation::compare_exchange, order::acquire, words::numbers, "::take(", mistake::relax},
    {"withdraw relaxed", operation::exchange, order::acquire, words::numbers, "::withdraw(", mistake::relax},
    {"answer in two steps", operation::compare_exchange, order::acq_rel, words::numbers, "::answer(",
     mistake::tear},
    {"take in two steps", operation::compare_exchange, order::acquire, words::numbers, "::take(",
     mistake::tear},
    {"withdraw in two steps", operation::exchange, order::acquire, words::numbers, "::withdraw(",
     mistake::tear},
    {"reclaim in two steps", operation::compare_exchange, order::relaxed, words::numbers, "::reclaim(",
     mistake::tear},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
