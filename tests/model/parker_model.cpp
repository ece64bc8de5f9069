// Model check of the parker: at any time one thread runs the worker, its own or an external one, and sees all that the
// one before it has done; no wake-up is lost while the occupant changes. The futex is a loop that looks at the word.
#include <ctime>
#include <memory>

#include "relacy_run.hpp"

#include "engine/threads/parker.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

struct watched_calls {
    using word = sync::atomic<std::uint32_t>;
    static void wait(word& at, std::uint32_t value, const timespec*, std::uint32_t) {
        if (at.load(order::relaxed) == value) sync::yield();
    }
    static void wake_one(word&, std::uint32_t) {}
};

constexpr const char* leaves_blindly = "the external thread leaves without a look";
constexpr const char* arms_late = "the external thread armed after its look";

/// Thread 0 is the own thread of the worker, the last thread wakes it once, the others are external.
template <class Derived, int Externals, bool Sleeps>
struct place : rl::test_suite<Derived, Externals + 2> {
    struct state {
        engine::parker<sync, watched_calls> parker;
        relacy_sync::var<int> worker; ///< of the occupant
        sync::atomic<int> task{0};
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() { all.reset(); }
    void work() { all->worker.set(all->worker.get() + 1); }
    bool look() { return all->task.load(order::relaxed) != 0; }

    void own_thread() {
        work();
        all->parker.arm();
        sync::fence(order::seq_cst);
        if (!look()) {
            work(); // still the occupant
            all->parker.sleep_vacant(std::chrono::nanoseconds(Sleeps ? 1 : 0x7fffffffffffffff));
        }
        all->parker.disarm();
        work();
    }
    void external_thread() {
        if (!all->parker.take_place()) return;
        work();
        if (Sleeps) {
            all->parker.arm();
            sync::fence(order::seq_cst);
            if (!look()) all->parker.sleep();
            all->parker.disarm();
            work();
        }
        if (!made(arms_late)) all->parker.arm();
        sync::fence(order::seq_cst);
        const bool found = !made(leaves_blindly) && look();
        if (made(arms_late)) all->parker.arm();
        work();
        if (!found && all->parker.leave_asleep()) return;
        if (found) all->parker.disarm();
        all->parker.leave_awake();
    }
    void thread(unsigned me) {
        if (me == 0) return own_thread();
        if (me <= Externals) return external_thread();
        all->task.store(1, order::relaxed);
        sync::fence(order::seq_cst);
        all->parker.wake();
    }
};

struct one_external : place<one_external, 1, false> {};
struct two_externals : place<two_externals, 2, false> {};
struct one_that_sleeps : place<one_that_sleeps, 1, true> {};

constexpr scenario scenarios[] = {
    {"one_external, bounded", 0, search<one_external>},
    {"one_external", 100000, search<one_external>},
    {"two_externals", 100000, search<two_externals>},
    {"one_that_sleeps", 100000, search<one_that_sleeps>},
};

constexpr mutant mutants[] = {
    {"the place left vacant in a relaxed way", operation::compare_exchange, order::acq_rel, words::numbers,
     "::sleep_vacant(", mistake::relax},
    {"the place taken in a relaxed way", operation::compare_exchange, order::acq_rel, words::numbers,
     "::take_place(", mistake::relax},
    {"the place taken in two steps", operation::compare_exchange, order::acq_rel, words::numbers,
     "::take_place(", mistake::tear},
    {"left asleep in a relaxed way", operation::compare_exchange, order::acq_rel, words::numbers,
     "::leave_asleep(", mistake::relax},
    {"left asleep in two steps", operation::compare_exchange, order::acq_rel, words::numbers,
     "::leave_asleep(", mistake::tear},
    {"left awake in a relaxed way", operation::store, order::release, words::numbers, "::leave_awake(",
     mistake::relax},
    {"awake again without its acquire", operation::load, order::acquire, words::numbers, "::sleep_vacant(",
     mistake::relax},
    {"the time is over in two steps", operation::compare_exchange, order::acquire, words::numbers,
     "::sleep_vacant(", mistake::tear},
    {"woken in two steps", operation::compare_exchange, order::acq_rel, words::numbers, "::wake(",
     mistake::tear},
    {leaves_blindly, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {arms_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
