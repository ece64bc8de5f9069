// Model check of the serial stages of a pipeline: one item at a time, in order or in any order; each item passes once, the
// thread that has the stage sees the item and what the stage has done before, and no item is left behind.
#include <memory>
#include <utility>

#include "relacy_run.hpp"

#include "pipeline/turns.hpp"
#include "pipeline/turnstile.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

// Mistakes in the order of steps.
constexpr const char* early = "the item published before it is written";

struct item {
    queue::basic_list_hook<sync> queue_link;
    sync::var<int> payload;
    std::uint64_t number = 0;
};

// What a stage does with an item.
struct serial_stage {
    sync::var<int> passed{0};
    int inside = 0; // the threads of a model take turns on one real thread
    void operator()(item& i, int expected) {
        RL_ASSERT(++inside == 1);
        RL_ASSERT(i.payload.get() == 42);
        RL_ASSERT(expected < 0 || passed.get() == expected);
        passed.set(passed.get() + 1);
        --inside;
    }
};

// Each thread brings items, and goes on with those that wait for the stage that it leaves. Two tokens at a time are on their
// way in a ring of two cells: the thread whose item has passed brings a later one in its place.
struct in_order : rl::test_suite<in_order, 2> {
    static constexpr int tokens = 2, items = 4;
    struct state {
        pipelines::turns<item, sync> stage;
        serial_stage work;
        item token[tokens];
        sync::atomic<int> made{0};
        int through = 0;
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        all->stage.reset(tokens);
    }
    void after() {
        RL_ASSERT(all->through == items);
        all.reset();
    }
    // The token is free: the next item takes it.
    bool refill(item& token) {
        const int n = all->made.fetch_add(1, order::acq_rel);
        if (n >= items) return false;
        token.number = static_cast<std::uint64_t>(n);
        token.payload.set(42);
        return true;
    }
    void carry(item* own) {
        while (own) {
            if (!refill(*own)) return;
            if (!all->stage.enter(*own, own->number)) return;
            own = pass(*own);
        }
    }
    // The stage has admitted `i`. Returns a free token, if this thread ends with one.
    item* pass(item& i) {
        const std::uint64_t number = i.number;
        all->work(i, static_cast<int>(number));
        ++all->through;
        i.payload.set(0);
        item* const next = all->stage.leave(number);
        if (!next) return &i;
        RL_ASSERT(next == &all->token[0] || next == &all->token[1]);
        // Two tokens: the next one first, by recursion, which is as deep as there are items.
        item* const free = pass(*next);
        carry(&i);
        return free;
    }
    void thread(unsigned me) { carry(&all->token[me]); }
};

struct any_order : rl::test_suite<any_order, 3> {
    static constexpr int rounds = 2;
    struct state {
        pipelines::turnstile<item, sync> stage;
        serial_stage work;
        item mine[3][rounds];
        int through = 0;
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        all->stage.reset(false, {});
    }
    void after() {
        RL_ASSERT(all->through == 3 * rounds);
        all.reset();
    }
    void thread(unsigned me) {
        for (item& own : all->mine[me]) {
            if (!made(early)) own.payload.set(42);
            item* next = all->stage.enter(own) ? &own : nullptr;
            if (made(early)) own.payload.set(42);
            while (next) {
                all->work(*next, -1);
                ++all->through;
                next->payload.set(0);
                next = all->stage.leave();
            }
        }
    }
};

// A stage that is held from the beginning, as a first stage is, with one item that waits in it.
struct held_first : rl::test_suite<held_first, 2> {
    struct state {
        pipelines::turnstile<item, sync> stage;
        serial_stage work;
        item first, waits, comes;
        int through = 0;
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        all->first.payload.set(42);
        all->waits.payload.set(42);
        queue::chain<item> waiting;
        waiting.push_back(&all->waits);
        all->stage.reset(true, std::move(waiting));
    }
    void after() {
        RL_ASSERT(all->through == 3);
        all.reset();
    }
    void pass_all(item* next) {
        while (next) {
            all->work(*next, -1);
            ++all->through;
            next = all->stage.leave();
        }
    }
    void thread(unsigned me) {
        if (me == 0) return pass_all(&all->first);
        all->comes.payload.set(42);
        if (all->stage.enter(all->comes)) pass_all(&all->comes);
    }
};

constexpr scenario scenarios[] = {
    {"in_order, bounded", 0, search<in_order>},     {"in_order", 100000, search<in_order>},
    {"any_order, bounded", 0, search<any_order>},   {"any_order", 100000, search<any_order>},
    {"held_first, bounded", 0, search<held_first>}, {"held_first", 20000, search<held_first>},
};

constexpr mutant mutants[] = {
    {"turns: enter relaxed", operation::exchange, order::acq_rel, words::numbers, "turns", mistake::relax},
    {"turns: an exchange in two steps", operation::exchange, order::acq_rel, words::numbers, "turns",
     mistake::tear},
    {"turns: the cell is not emptied", operation::store, order::relaxed, words::numbers, "::enter(",
     mistake::omit},
    {"turns: leave does not empty the cell", operation::store, order::relaxed, words::numbers, "::leave(",
     mistake::omit},
    {"turnstile: enter takes the stage relaxed", operation::compare_exchange, order::acquire, words::numbers,
     "::enter(", mistake::relax},
    {"turnstile: enter publishes relaxed", operation::compare_exchange, order::release, words::numbers,
     "::enter(", mistake::relax},
    {"turnstile: enter in two steps", operation::compare_exchange, order::release, words::numbers, "::enter(",
     mistake::tear},
    {"turnstile: enter takes the stage in two steps", operation::compare_exchange, order::acquire,
     words::numbers, "::enter(", mistake::tear},
    {"turnstile: leave relaxed", operation::compare_exchange, order::release, words::numbers, "::leave(",
     mistake::relax},
    {"turnstile: leave in two steps", operation::compare_exchange, order::release, words::numbers, "::leave(",
     mistake::tear},
    {"turnstile: the items taken relaxed", operation::exchange, order::acquire, words::numbers, "::leave(",
     mistake::relax},
    {"turnstile: the items taken in two steps", operation::exchange, order::acquire, words::numbers,
     "::leave(", mistake::tear},
    {early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
