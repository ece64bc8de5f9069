// Model check of the Chase-Lev deque: an owner and two thieves, a ring that grows under them.
#include <memory>

#include "relacy_run.hpp"

#include "queue/chase_lev_deque.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;

struct item {
    relacy_sync::var<int> payload;
    int taken = 0; // the threads of a model take turns on one real thread
};

// What all scenarios share: the thread that takes an item sees its payload, and each item is taken once.
template <class Derived, int Threads, int Items, int Capacity>
struct deque_test : rl::test_suite<Derived, Threads> {
    using deque = queue::chase_lev_deque<item*, relacy_sync, relacy_memory>;
    struct state {
        deque tasks{Capacity};
        item items[Items];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }

    void after() {
        while (item* const left = all->tasks.pop()) take(left);
        for (const item& each : all->items) RL_ASSERT(each.taken == 1);
        RL_ASSERT(all->tasks.empty());
        all.reset();
    }

    void push(int at) {
        all->items[at].payload.set(at + 1);
        all->tasks.push(&all->items[at]);
    }

    void take(item* got) {
        RL_ASSERT(got != nullptr);
        RL_ASSERT(got->payload.get() == static_cast<int>(got - all->items) + 1);
        ++got->taken;
        RL_ASSERT(got->taken == 1);
    }

    void pop() {
        if (item* const got = all->tasks.pop()) take(got);
    }

    void pop_top() {
        if (item* const got = all->tasks.pop_top()) take(got);
    }

    queue::steal_result steal() {
        item* got = nullptr;
        const queue::steal_result result = all->tasks.steal(got);
        RL_ASSERT((result == queue::steal_result::ok) == (got != nullptr));
        if (got != nullptr) take(got);
        return result;
    }
};

// Two items, popped while two thieves steal: which thread gets the last one?
struct race_for_the_last : deque_test<race_for_the_last, 3, 2, 4> {
    void thread(unsigned me) {
        if (me == 0) {
            push(0);
            push(1);
            pop();
            pop();
        } else {
            steal();
            steal();
        }
    }
};

// The ring grows from one slot to four while thieves read it.
struct growth : deque_test<growth, 3, 4, 1> {
    void thread(unsigned me) {
        if (me == 0) {
            push(0);
            push(1);
            push(2);
            pop();
            push(3);
            pop();
        } else {
            steal();
            steal();
        }
    }
};

// Slots are used again: two of them for five items.
struct reuse : deque_test<reuse, 3, 5, 2> {
    void thread(unsigned me) {
        if (me == 0) {
            push(0);
            push(1);
            pop();
            push(2);
            pop();
            push(3);
            pop();
            push(4);
        } else {
            for (int tries = 0; tries < 3; ++tries) steal();
        }
    }
};

// The owner takes from both ends.
struct owner_at_the_top : deque_test<owner_at_the_top, 3, 4, 2> {
    void thread(unsigned me) {
        if (me == 0) {
            push(0);
            push(1);
            pop_top();
            push(2);
            pop();
            push(3);
            pop_top();
            pop_top();
        } else {
            steal();
            steal();
        }
    }
};

// What the checker cannot show. The release of a thief's CAS and the acquire in make_room keep the thief's
// load of a slot from happening after the owner has written the slot again.
constexpr const char* k_no_late_loads = "the checker performs every load where it stands, never later";
constexpr const char* k_old_sequences = "the checker has the release sequences of C++11";
constexpr const char* k_as_published = "no failure is known, the fences order it too; kept as published";

constexpr scenario scenarios[] = {
    {"race_for_the_last, bounded", 0, search<race_for_the_last>},
    {"race_for_the_last", 30000, search<race_for_the_last>},
    {"growth", 30000, search<growth>},
    {"reuse", 30000, search<reuse>},
    {"owner_at_the_top", 30000, search<owner_at_the_top>},
};

constexpr mutant mutants[] = {
    {"pop without its fence", operation::fence, order::seq_cst, words::all, "::pop(", mistake::omit},
    {"steal without its fence", operation::fence, order::seq_cst, words::all, "::steal(", mistake::omit},
    {"push publishes relaxed", operation::store, order::release, words::numbers, "::push(", mistake::relax},
    {"growth publishes relaxed", operation::store, order::release, words::pointers, "::make_room(",
     mistake::relax},
    {"steal loads top and bottom relaxed", operation::load, order::acquire, words::numbers, "::steal(",
     mistake::relax},
    {"steal loads the ring relaxed", operation::load, order::acquire, words::pointers, "::steal(",
     mistake::relax},
    {"the CAS of steal torn", operation::compare_exchange, order::seq_cst, words::numbers, "::steal(",
     mistake::tear},
    {"the CAS of pop torn", operation::compare_exchange, order::seq_cst, words::numbers, "::pop(",
     mistake::tear},
    {"the CAS of pop_top torn", operation::compare_exchange, order::seq_cst, words::numbers, "::pop_top(",
     mistake::tear},
    {"pop never stores bottom", operation::store, order::release, words::numbers, "::pop(", mistake::omit},
    {"pop stores bottom relaxed", operation::store, order::release, words::numbers, "::pop(", mistake::relax,
     k_old_sequences},
    {"make_room loads top relaxed", operation::load, order::acquire, words::numbers, "::make_room(",
     mistake::relax, k_no_late_loads},
    {"the CAS of steal relaxed", operation::compare_exchange, order::seq_cst, words::numbers, "::steal(",
     mistake::relax, k_no_late_loads},
    {"the CAS of pop relaxed", operation::compare_exchange, order::seq_cst, words::numbers, "::pop(",
     mistake::relax, k_as_published},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
