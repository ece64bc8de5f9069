// Model check of the injector: producers that meet in its one word, consumers that empty it.
#include <memory>

#include "relacy_run.hpp"

#include "queue/injector.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;

struct item {
    queue::basic_list_hook<relacy_sync> queue_link;
    relacy_sync::var<int> payload;
    int producer = 0;
    int taken = 0; // the threads of a model take turns on one real thread
};

using inbox_type = queue::injector<item, relacy_sync>;

template <class Derived, int Threads, int Producers, int Each>
struct injector_test : rl::test_suite<Derived, Threads> {
    struct state {
        inbox_type inbox;
        item items[Producers][Each];
        int last_taken[Producers] = {};
        int pushes_into_empty = 0;
        int takes_of_some = 0;
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }

    void after() {
        take(true);
        for (const auto& mine : all->items) {
            for (const item& each : mine) RL_ASSERT(each.taken == 1);
        }
        RL_ASSERT(all->pushes_into_empty == all->takes_of_some);
        RL_ASSERT(all->inbox.empty());
        all.reset();
    }

    void push(int producer, int at) {
        item& mine = all->items[producer][at];
        mine.producer = producer;
        mine.payload.set(at + 1);
        if (all->inbox.push(&mine)) ++all->pushes_into_empty;
    }

    // What one producer put in comes out in its order: within a chain always, over all where one consumer
    // takes.
    int take(bool only_consumer) {
        int taken = 0;
        int seen[Producers] = {};
        auto got = all->inbox.take_all();
        if (!got.empty()) ++all->takes_of_some;
        while (item* const each = got.pop_front()) {
            const int place = each->payload.get();
            RL_ASSERT(place > seen[each->producer]);
            seen[each->producer] = place;
            if (only_consumer) {
                RL_ASSERT(place > all->last_taken[each->producer]);
                all->last_taken[each->producer] = place;
            }
            RL_ASSERT(++each->taken == 1);
            ++taken;
        }
        return taken;
    }
};

// Two producers of two items each, one consumer: first in, first out for each producer.
struct one_consumer : injector_test<one_consumer, 3, 2, 2> {
    void thread(unsigned me) {
        if (me < 2) {
            push(static_cast<int>(me), 0);
            push(static_cast<int>(me), 1);
        } else {
            take(true);
            take(true);
        }
    }
};

// Two producers, two consumers.
struct two_consumers : injector_test<two_consumers, 4, 2, 2> {
    void before() { injector_test::before(); }
    void after() {
        for (int& last : all->last_taken) last = 0;
        injector_test::after();
    }
    void thread(unsigned me) {
        if (me < 2) {
            push(static_cast<int>(me), 0);
            push(static_cast<int>(me), 1);
        } else {
            take(false);
            take(false);
        }
    }
};

// A consumer that says it goes away, then looks once more; a producer that pushes, then asks whether it went:
// with a seq_cst fence between the two on both sides, one of them notices the other.
struct last_look : injector_test<last_look, 2, 1, 1> {
    std::unique_ptr<relacy_sync::atomic<std::uint32_t>> going;
    bool noticed = false;

    void before() {
        injector_test::before();
        going = std::make_unique<relacy_sync::atomic<std::uint32_t>>(0u);
        noticed = false;
    }
    void after() {
        RL_ASSERT(noticed);
        going.reset();
        injector_test::after();
    }
    void thread(unsigned me) {
        if (me == 0) {
            push(0, 0);
            relacy_sync::fence(order::seq_cst);
            if (going->load(order::relaxed) != 0) noticed = true;
        } else {
            going->store(1, order::relaxed);
            relacy_sync::fence(order::seq_cst);
            if (take(true) != 0) noticed = true;
        }
    }
};

constexpr scenario scenarios[] = {
    {"last_look, bounded", 0, search<last_look>},
    {"last_look", 100000, search<last_look>},
    {"one_consumer", 100000, search<one_consumer>},
    {"two_consumers", 100000, search<two_consumers>},
};

constexpr mutant mutants[] = {
    {"push publishes relaxed", operation::compare_exchange, order::release, words::pointers, "::push(",
     mistake::relax},
    {"take_all takes relaxed", operation::exchange, order::acquire, words::pointers, "::take_all(",
     mistake::relax},
    {"the CAS of push torn", operation::compare_exchange, order::release, words::pointers, "::push(",
     mistake::tear},
    {"the exchange of take_all torn", operation::exchange, order::acquire, words::pointers, "::take_all(",
     mistake::tear},
    {"no fences around the last look", operation::fence, order::seq_cst, words::all, "last_look::thread(",
     mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
