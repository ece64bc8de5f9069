// Model check of workers that change cores: each worker's thread is pinned to the worker's core in the end, also if threads come to
// workers meanwhile (K1, K2 of engine/threads/pinned_threads.hpp), and a token of the gate never promises a worker that is out (T1 of
// engine/team/README.md). The lock and the pinned threads are the engine's own; the masks are those of a system that refuses some; the
// tokens, with gate::with_workers() and arena::exchange(), are copied.
#include <cstdint>
#include <memory>
#include <mutex>

#include "relacy_run.hpp"

#include "engine/threads/pinned_threads.hpp"
#include "queue/spin_lock.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* outside = "cores change without the gate's lock";
constexpr const char* unseen = "cores change although a token is out";

/// Plain data, which the checker watches, under the names that the engine's own have.
template <class T>
class plain {
public:
    plain& operator=(T value) {
        word_.set(value);
        return *this;
    }
    operator T() const { return word_.get(); }
    auto& operator*() const { return *word_.get(); }

private:
    sync::var<T> word_{T{}};
};

struct kernel_thread {
    plain<int> core;
    sync::atomic<int> mask{-1}; // of the system
};
struct worker {
    sync::atomic<int> core_now{-1};
    plain<kernel_thread*> pinned;

    int core() const { return core_now.load(order::relaxed); }
    void set_core(int core) { core_now.store(core, order::relaxed); }
};

/// Worker w begins on core w with thread w; thread Workers is spare.
template <class Derived, int Threads, int Workers>
struct pinning : rl::test_suite<Derived, Threads> {
    struct state {
        engine::pinned_threads<sync> pinned;
        worker of[Workers];
        kernel_thread threads[Workers + 1];
    };
    std::unique_ptr<state> all;
    int refused_core = -1; // to every thread but the one that begins there
    int done = 0;          // exchanges; the threads of a model take turns on one real thread
    int occupant[Workers]; // the thread that came last

    void before() {
        all = std::make_unique<state>();
        done = 0;
        for (kernel_thread& t : all->threads) t.core = -1;
        for (int w = 0; w < Workers; ++w) {
            all->of[w].set_core(w);
            all->of[w].pinned = nullptr;
            comes(w, w);
        }
    }
    void after() {
        unsigned cores = 0;
        for (int i = 0; i < Workers; ++i) {
            worker& w = all->of[i];
            const kernel_thread& t = all->threads[occupant[i]];
            RL_ASSERT(t.mask.load(order::relaxed) == w.core());
            RL_ASSERT(t.core == w.core());
            cores |= 1U << static_cast<unsigned>(w.core());
        }
        RL_ASSERT(cores == (1U << Workers) - 1);
        all.reset();
    }

    auto pin() {
        return [this](kernel_thread& t, int core) {
            if (core == refused_core && &t != &all->threads[core]) return false;
            t.mask.store(core, order::relaxed);
            return true;
        };
    }
    void comes(int w, int thread) {
        all->pinned.comes(all->of[w], all->threads[thread], pin());
        occupant[w] = thread;
    }
    bool exchange(int a, int b) {
        const bool did = all->pinned.exchange(all->of[a], all->of[b], pin());
        done += did ? 1 : 0;
        return did;
    }
};

/// A spare thread comes to a worker, whose own thread comes back, while the worker changes its core.
struct comes_and_goes : pinning<comes_and_goes, 2, 2> {
    void thread(unsigned me) {
        if (me == 0) {
            exchange(0, 1);
            return;
        }
        comes(0, 2);
        comes(0, 0);
    }
};
struct two_exchange : pinning<two_exchange, 3, 3> {
    void thread(unsigned me) {
        if (me == 0) exchange(0, 1);
        if (me == 1) exchange(1, 2);
        if (me == 2) comes(1, 3);
    }
    void after() {
        RL_ASSERT(done == 2);
        pinning::after();
    }
};
/// The system lets no other thread onto core 2: an exchange with its worker changes nothing.
struct one_is_refused : pinning<one_is_refused, 3, 3> {
    one_is_refused() { refused_core = 2; }
    void thread(unsigned me) {
        if (me == 0) exchange(0, 1);
        if (me == 1) RL_ASSERT(!exchange(1, 2));
        if (me == 2) comes(0, 3);
    }
    void after() {
        RL_ASSERT(done == 1);
        pinning::after();
    }
};

/// Two workers, each in a cell of its own, take a token of their cell, are out, and come back, while their cores are exchanged.
struct tokens : rl::test_suite<tokens, 3> {
    struct state {
        queue::spin_lock<sync> gate;
        sync::var<int> free[2];
        sync::var<int> out[2]; // whether that worker has joined a team
        worker of[2];
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        for (int w = 0; w < 2; ++w) {
            all->of[w].set_core(w);
            all->free[w].set(1), all->out[w].set(0);
        }
    }
    void after() {
        RL_ASSERT(all->free[0].get() + all->free[1].get() == 2);
        all.reset();
    }
    /// Under the lock: for each token that is free there is a worker in the cell.
    void look() {
        for (int w = 0; w < 2; ++w) RL_ASSERT(all->free[all->of[w].core()].get() == 1 - all->out[w].get());
    }
    void exchange() {
        const bool locks = !made(outside);
        if (locks) all->gate.lock();
        const bool none_is_out = all->free[0].get() == 1 && all->free[1].get() == 1;
        if (none_is_out || made(unseen)) {
            const int core = all->of[0].core();
            all->of[0].set_core(all->of[1].core());
            all->of[1].set_core(core);
        }
        if (locks) all->gate.unlock();
    }
    void thread(unsigned me) {
        if (me == 2) return exchange(), exchange();
        int cell = 0;
        {
            const std::lock_guard held(all->gate);
            cell = all->of[me].core();
            all->free[cell].set(0), all->out[me].set(1);
            look();
        }
        const std::lock_guard held(all->gate);
        look();
        RL_ASSERT(all->of[me].core() == cell); // the team has the cores that it was given
        all->free[cell].set(1), all->out[me].set(0);
    }
};

constexpr scenario scenarios[] = {
    {"comes_and_goes, bounded", 0, search<comes_and_goes>},
    {"comes_and_goes", 20000, search<comes_and_goes>},
    {"two_exchange", 20000, search<two_exchange>},
    {"one_is_refused", 20000, search<one_is_refused>},
    {"tokens", 20000, search<tokens>},
};

constexpr mutant mutants[] = {
    {"unlock relaxed", operation::store, order::release, words::numbers, "::unlock(", mistake::relax},
    {"the lock taken relaxed", operation::exchange, order::acquire, words::numbers, "::take(",
     mistake::relax},
    {"the lock taken in two steps", operation::exchange, order::acquire, words::numbers, "::take(",
     mistake::tear},
    {outside, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {unseen, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
