// Model check of the THE deque: an owner, thieves, and a thread that pushes at the far end; a ring that grows
// under them.
#include <memory>

#include "relacy_run.hpp"

#include "queue/the_deque.hpp"

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
    using deque = queue::the_deque<item*, relacy_sync, relacy_memory>;
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

    item* make(int at) {
        all->items[at].payload.set(at + 1);
        return &all->items[at];
    }
    void push(int at) { all->tasks.push(make(at)); }
    void push_far(int at) { all->tasks.push_far(make(at)); }

    bool take(item* got) {
        if (got == nullptr) return false;
        RL_ASSERT(got->payload.get() == static_cast<int>(got - all->items) + 1);
        RL_ASSERT(++got->taken == 1);
        return true;
    }
    bool pop() { return take(all->tasks.pop()); }
    bool steal() { return take(all->tasks.steal()); }
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

// One pushes at the far end while the owner pushes and pops and a thief steals.
struct far_end : deque_test<far_end, 3, 4, 1> {
    void thread(unsigned me) {
        if (me == 0) {
            push(0);
            pop();
            pop();
            push(1);
            pop();
        } else if (me == 1) {
            push_far(2);
            push_far(3);
        } else {
            steal();
            steal();
        }
    }
};

// The last look before sleep (I5): push, fence, ask; say, fence, look. A thief that takes its claim back is
// between them.
template <class Derived, bool Far>
struct last_look : deque_test<Derived, 3, 2, 2> {
    using base = deque_test<Derived, 3, 2, 2>;
    std::unique_ptr<relacy_sync::atomic<std::uint32_t>> going;
    bool noticed = false;

    void before() {
        base::before();
        going = std::make_unique<relacy_sync::atomic<std::uint32_t>>(0u);
        noticed = false;
    }
    void after() {
        RL_ASSERT(noticed || this->all->items[1].taken == 1);
        going.reset();
        base::after();
    }
    void look() {
        relacy_sync::fence(order::seq_cst);
        if (going->load(order::relaxed) != 0) noticed = true;
    }
    void thread(unsigned me) {
        if (me == 0) {
            this->push(0);
            this->pop();
            if (!Far) {
                this->push(1);
                look();
            }
        } else if (me == 1) {
            if (Far) {
                this->push_far(1);
                look();
            } else {
                this->steal();
            }
        } else {
            going->store(1, order::relaxed);
            relacy_sync::fence(order::seq_cst);
            this->steal();
            this->steal();
        }
    }
};
struct last_look_near : last_look<last_look_near, false> {};
struct last_look_far : last_look<last_look_far, true> {};

constexpr scenario scenarios[] = {
    {"race_for_the_last, bounded", 0, search<race_for_the_last>},
    {"race_for_the_last", 30000, search<race_for_the_last>},
    {"growth", 30000, search<growth>},
    {"reuse", 30000, search<reuse>},
    {"far_end, bounded", 0, search<far_end>},
    {"far_end", 30000, search<far_end>},
    {"last_look_near", 50000, search<last_look_near>},
    {"last_look_far", 50000, search<last_look_far>},
};

constexpr const char* k_old_sequences = "the checker has the release sequences of C++11";

constexpr mutant mutants[] = {
    {"pop without its fence", operation::fence, order::seq_cst, words::all, "::pop(", mistake::omit},
    {"steal without its fence", operation::fence, order::seq_cst, words::all, "::steal(", mistake::omit},
    {"push publishes relaxed", operation::store, order::release, words::numbers, "::push(", mistake::relax},
    {"steal loads the near end relaxed", operation::load, order::acquire, words::numbers, "::steal(",
     mistake::relax},
    {"steal says relaxed that it has read", operation::store, order::release, words::numbers, "::steal(",
     mistake::relax},
    {"make_room loads the head relaxed", operation::load, order::acquire, words::numbers, "::make_room(",
     mistake::relax},
    {"pop never lowers the near end", operation::store, order::release, words::numbers, "::pop(",
     mistake::omit},
    {"pop_met leaves the near end lowered", operation::store, order::release, words::numbers, "::pop_met(",
     mistake::omit},
    {"no claim is made", operation::store, order::relaxed, words::numbers, "::steal(", mistake::omit},
    {"unlock relaxed", operation::store, order::release, words::numbers, "::unlock(", mistake::relax},
    {"the lock taken in two steps", operation::exchange, order::acquire, words::numbers, "::take(",
     mistake::tear},
    {"the far elements never counted", operation::store, order::relaxed, words::numbers, "::count_far(",
     mistake::omit},
    {"no fences around the last look", operation::fence, order::seq_cst, words::all, "last_look<",
     mistake::omit},
    {"pop stores the near end relaxed", operation::store, order::release, words::numbers, "::pop(",
     mistake::relax, k_old_sequences},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
