// Model check of the children that threads outside add to a group: each child is taken once, by an adder that sees all
// of it, and one call takes those of one thread in the order in which it has added them (N1, N2).
#include <memory>

#include "relacy_run.hpp"

#include "engine/run/outside.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* makes_no_adder = "an adder is made only by a thread that finds a child there";

struct child {
    queue::basic_list_hook<sync> queue_link;
    sync::var<int> number; ///< from 1 on, by the thread that has added it
    sync::var<int> of;
    int taken = 0; // the threads of a model take turns on one real thread
};

template <class Derived, int Threads, int Each>
struct adding : rl::test_suite<Derived, Threads> {
    using steps = engine::outside_children<child, sync>;
    struct state {
        typename steps::word word{steps::none};
        child all[Threads * Each];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        for (auto& each : all->all) RL_ASSERT(each.taken == 1);
        RL_ASSERT(all->word.load(order::relaxed) == steps::none);
        all.reset();
    }

    void run_adder() {
        while (child* c = steps::take(all->word)) {
            int last[Threads] = {};
            for (; c; c = steps::next(*c)) {
                const int of = c->of.get(), number = c->number.get();
                RL_ASSERT(number > last[of]);
                last[of] = number;
                RL_ASSERT(++c->taken == 1);
            }
        }
    }
    void thread(unsigned me) {
        for (int i = 0; i < Each; ++i) {
            child& c = all->all[static_cast<int>(me) * Each + i];
            c.number.set(i + 1);
            c.of.set(static_cast<int>(me));
            if (steps::add(all->word, c) && !made(makes_no_adder)) run_adder();
        }
    }
};

struct two_threads : adding<two_threads, 2, 2> {};
struct three_threads : adding<three_threads, 3, 2> {};

constexpr scenario scenarios[] = {
    {"two_threads, bounded", 0, search<two_threads>},
    {"two_threads", 100000, search<two_threads>},
    {"three_threads", 100000, search<three_threads>},
};

constexpr mutant mutants[] = {
    {"added in a relaxed way", operation::compare_exchange, order::release, words::numbers, "::add(",
     mistake::relax},
    {"added in two steps", operation::compare_exchange, order::release, words::numbers, "::add(",
     mistake::tear},
    {"taken in a relaxed way", operation::exchange, order::acquire, words::numbers, "::take(",
     mistake::relax},
    {"taken in two steps", operation::exchange, order::acquire, words::numbers, "::take(", mistake::tear},
    {"the adder ends in two steps", operation::compare_exchange, order::relaxed, words::numbers, "::take(",
     mistake::tear},
    {makes_no_adder, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
