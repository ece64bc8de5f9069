// Model check of the mailbox: two senders, one receiver, whose last look before sleep misses nothing.
#include <memory>

#include "relacy_run.hpp"

#include "queue/mailbox.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;

struct item {
    queue::basic_list_hook<relacy_sync> queue_link;
    relacy_sync::var<int> payload;
    int taken = 0; // the threads of a model take turns on one real thread
};

template <class Derived, int Threads, int Items>
struct box_test : rl::test_suite<Derived, Threads> {
    struct state {
        queue::mailbox<item, relacy_sync> box;
        item items[Items];
        int last_of_first_sender = -1;
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        while (take()) {}
        for (const item& each : all->items) RL_ASSERT(each.taken == 1);
        RL_ASSERT(all->box.empty());
        all.reset();
    }
    bool put(int at) {
        all->items[at].payload.set(at + 1);
        return all->box.put(&all->items[at]);
    }
    // The first sender's items have the even numbers, in their order.
    bool take() {
        item* const got = all->box.take();
        if (got == nullptr) return false;
        const int at = static_cast<int>(got - all->items);
        RL_ASSERT(got->payload.get() == at + 1);
        RL_ASSERT(++got->taken == 1);
        if (at % 2 == 0) {
            RL_ASSERT(at > all->last_of_first_sender);
            all->last_of_first_sender = at;
        }
        return true;
    }
};

struct two_senders : box_test<two_senders, 3, 4> {
    void thread(unsigned me) {
        if (me == 2) {
            for (int tries = 0; tries < 3; ++tries) take();
        } else {
            put(static_cast<int>(me));
            put(static_cast<int>(me) + 2);
        }
    }
};

// The last look before sleep (I3): put, fence, ask; say, fence, look. Two were put before, of which one is in
// the receiver's hand still.
struct last_look : box_test<last_look, 2, 3> {
    std::unique_ptr<relacy_sync::atomic<std::uint32_t>> going;
    bool noticed = false;

    void before() {
        box_test::before();
        going = std::make_unique<relacy_sync::atomic<std::uint32_t>>(0u);
        noticed = false;
    }
    void after() {
        RL_ASSERT(noticed);
        going.reset();
        box_test::after();
    }
    void thread(unsigned me) {
        if (me == 0) {
            put(0);
            put(2);
            put(1);
            relacy_sync::fence(order::seq_cst);
            if (going->load(order::relaxed) != 0) noticed = true;
        } else {
            take();
            going->store(1, order::relaxed);
            relacy_sync::fence(order::seq_cst);
            while (!all->box.empty()) take();
            if (all->items[1].taken == 1) noticed = true;
        }
    }
};

constexpr scenario scenarios[] = {
    {"last_look, bounded", 0, search<last_look>},
    {"last_look", 50000, search<last_look>},
    {"two_senders", 50000, search<two_senders>},
};

constexpr mutant mutants[] = {
    {"put publishes relaxed", operation::compare_exchange, order::release, words::pointers, "::push(",
     mistake::relax},
    {"take relaxed", operation::exchange, order::acquire, words::pointers, "::take_all(", mistake::relax},
    {"the exchange of take torn", operation::exchange, order::acquire, words::pointers, "::take_all(",
     mistake::tear},
    {"the CAS of put torn", operation::compare_exchange, order::release, words::pointers, "::push(",
     mistake::tear},
    {"what is at hand does not count", operation::store, order::relaxed, words::numbers, "::take(",
     mistake::omit},
    {"no fences around the last look", operation::fence, order::seq_cst, words::all, "last_look::thread(",
     mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
