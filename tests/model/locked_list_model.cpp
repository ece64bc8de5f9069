// Model check of the spin lock and of the list under it.
#include <memory>
#include <mutex>

#include "relacy_run.hpp"

#include "queue/locked_list.hpp"
#include "queue/spin_lock.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;

// Two counters under a lock, one of them taken by try_lock where that is free.
struct exclusion : rl::test_suite<exclusion, 3> {
    struct state {
        queue::spin_lock<relacy_sync> lock;
        relacy_sync::var<int> count{0};
        int skipped = 0; // the threads of a model take turns on one real thread
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        RL_ASSERT(all->count.get() + all->skipped == 6);
        all.reset();
    }
    void thread(unsigned me) {
        for (int round = 0; round < 2; ++round) {
            if (me == 0) {
                if (!all->lock.try_lock()) {
                    ++all->skipped;
                    continue;
                }
                all->count.set(all->count.get() + 1);
                all->lock.unlock();
            } else {
                const std::lock_guard held(all->lock);
                all->count.set(all->count.get() + 1);
            }
        }
    }
};

struct item {
    queue::basic_list_hook<relacy_sync> queue_link;
    relacy_sync::var<int> payload;
    int taken = 0;
};

template <class Derived, int Threads, int Items>
struct list_test : rl::test_suite<Derived, Threads> {
    struct state {
        queue::locked_list<item, relacy_sync> list;
        item items[Items];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        while (item* const left = all->list.pop_front()) take(left);
        for (const item& each : all->items) RL_ASSERT(each.taken == 1);
        RL_ASSERT(all->list.size() == 0);
        all.reset();
    }
    item* made(int at) {
        all->items[at].payload.set(at + 1);
        return &all->items[at];
    }
    bool take(item* got) {
        if (got == nullptr) return false;
        RL_ASSERT(got->payload.get() == static_cast<int>(got - all->items) + 1);
        RL_ASSERT(++got->taken == 1);
        return true;
    }
};

// Everybody pushes at one end and takes from either.
struct both_ends : list_test<both_ends, 3, 4> {
    void thread(unsigned me) {
        if (me == 0) {
            all->list.push_back(made(0));
            all->list.push_front(made(1));
            take(all->list.pop_back());
        } else if (me == 1) {
            all->list.push_front(made(2));
            take(all->list.try_pop_front());
            take(all->list.pop_least([](const item& each) { return -each.payload.get(); }));
        } else {
            take(all->list.try_pop_back());
            all->list.push_back(made(3));
            take(all->list.pop_first_if([](const item& each) { return each.payload.get() % 2 == 0; }));
        }
    }
};

// The last look before sleep, as with the injector: push, fence, ask; say, fence, look without the lock.
struct last_look : list_test<last_look, 2, 1> {
    std::unique_ptr<relacy_sync::atomic<std::uint32_t>> going;
    bool noticed = false;

    void before() {
        list_test::before();
        going = std::make_unique<relacy_sync::atomic<std::uint32_t>>(0u);
        noticed = false;
    }
    void after() {
        RL_ASSERT(noticed);
        going.reset();
        list_test::after();
    }
    void thread(unsigned me) {
        if (me == 0) {
            all->list.push_back(made(0));
            relacy_sync::fence(order::seq_cst);
            if (going->load(order::relaxed) != 0) noticed = true;
        } else {
            going->store(1, order::relaxed);
            relacy_sync::fence(order::seq_cst);
            if (take(all->list.try_pop_front())) noticed = true;
        }
    }
};

constexpr scenario scenarios[] = {
    {"last_look, bounded", 0, search<last_look>},
    {"last_look", 100000, search<last_look>},
    {"exclusion", 100000, search<exclusion>},
    {"both_ends", 100000, search<both_ends>},
};

constexpr mutant mutants[] = {
    {"unlock relaxed", operation::store, order::release, words::numbers, "::unlock(", mistake::relax},
    {"the lock taken relaxed", operation::exchange, order::acquire, words::numbers, "::take(",
     mistake::relax},
    {"the lock taken in two steps", operation::exchange, order::acquire, words::numbers, "::take(",
     mistake::tear},
    {"unlock forgotten", operation::store, order::release, words::numbers, "::unlock(", mistake::omit},
    {"size never counted", operation::store, order::relaxed, words::numbers, "::count(", mistake::omit},
    {"no fences around the last look", operation::fence, order::seq_cst, words::all, "last_look::thread(",
     mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
