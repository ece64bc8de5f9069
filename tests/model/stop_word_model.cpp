// Model check of the change of kernel threads: one worker goes from thread to thread, each of which stops until it gets the worker
// again. At any time one thread runs the worker, and sees all that the ones before it have done (Y2); a thread that was woken
// once runs once (Y3).
#include <cstdint>
#include <memory>

#include "relacy_run.hpp"

#include "engine/threads/preemption/stop_word.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* keeps_the_wake = "the thread keeps its wake-up";

/// Thread 0 has the worker first. Each thread works, gives the worker to the next one, and stops, `Rounds` times.
template <class Derived, int Threads, int Rounds>
struct ring : rl::test_suite<Derived, Threads> {
    struct thread_words {
        engine::stop_word<sync> stopped;
        relacy_sync::var<int> preempted; ///< written for it by the thread that wakes it
    };
    struct state {
        relacy_sync::var<int> worker; ///< of the thread that runs it
        thread_words of[Threads];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() { all.reset(); }

    void stop(thread_words& self) {
        self.stopped.stop([](auto&) { sync::yield(); });
        if (made(keeps_the_wake)) self.stopped.wake([](auto&) {});
        self.preempted.set(self.preempted.get() + 1); // it is this thread's now
    }
    void thread(unsigned me) {
        thread_words& self = all->of[me];
        thread_words& next = all->of[(me + 1) % Threads];
        for (int round = 0; round < Rounds; ++round) {
            if (me > 0 || round > 0) stop(self);
            all->worker.set(all->worker.get() + 1);
            next.preempted.set(round);
            next.stopped.wake([](auto&) {});
        }
    }
};

struct two_threads : ring<two_threads, 2, 3> {};
struct three_threads : ring<three_threads, 3, 2> {};

constexpr scenario scenarios[] = {
    {"two_threads, bounded", 0, search<two_threads>},
    {"two_threads", 100000, search<two_threads>},
    {"three_threads", 100000, search<three_threads>},
};

constexpr mutant mutants[] = {
    {"woken in a relaxed way", operation::store, order::release, words::numbers, "::wake(", mistake::relax},
    {"stopped without its acquire", operation::load, order::acquire, words::numbers, "::stop(",
     mistake::relax},
    {keeps_the_wake, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
