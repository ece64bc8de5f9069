// Model check of the standing asks (X1 to X4 of engine/idle/README.md): a thief that sleeps is never left
// beside hidden work. The steps are copies of park in idle/worker_search.hpp, of starts_working in
// threads/search.cpp, of on_signal, signal and answer in threads/exposure.cpp, and of leave_runtime in
// run/switch.hpp, on the set and the slot that the engine uses. The checker has no signals: the victim's
// thread looks for one between any two of its steps.
#include <memory>

#include "relacy_run.hpp"

#include "engine/idle/ask_slot.hpp"
#include "queue/worker_set.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;
using set_type = queue::worker_set<relacy_sync>;
using slot_type = engine::ask_slot<relacy_sync>;

// Mistakes in the order of steps.
constexpr const char* clears_late = "signal_out cleared after the askers were read";
constexpr const char* inserts_late = "the insertion after working was read";
constexpr const char* works_late = "working set after the askers were read";
constexpr const char* reopens = "the handler raises the limit although a thief asks";
constexpr const char* looks_early = "the way out looks for the mark before it clears in_runtime";
constexpr const char* unmarked = "the handler leaves no mark in the runtime";
constexpr const char* forgetful = "an ask is forgotten when there is nothing to give";
constexpr const char* asks_late = "the slot written after the insertion";
constexpr const char* compares_early = "a fork compares before it links";
constexpr const char* trusts_late = "hides_nothing cleared after the askers were read";
constexpr const char* trusts_early = "hides_nothing read before the insertion";
constexpr const char* trusts_always = "hides_nothing set while an entry is hidden";
constexpr const char* plain_clear = "signal_out cleared by a release store";

// Thieves go to sleep while the victim begins to work, forks as many entries as there are thieves, and stays
// in a leaf that never polls until all are taken.
template <class Derived, int Thieves>
struct standing_asks : rl::test_suite<Derived, Thieves + 1> {
    struct thief {
        slot_type slot;
        sync::atomic<std::uint32_t> parker{0}; // 1: armed
        sync::atomic<std::uint32_t> has{0};
    };
    struct state {
        set_type askers{Thieves + 1};
        sync::atomic<std::uint32_t> working{0}, signal_out{0}, hides_nothing{0}, signals{0};
        sync::atomic<std::uint32_t> limit{0}; // 0: every fork takes the slow path
        thief thieves[Thieves + 1];           // the last one has withdrawn its ask, if it has asked at all
        // The victim's own, its handler's too.
        bool in_runtime = true, marked = false;
        int linked = 0, exposed = 0;
        impl::frame entries[Thieves];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() { all.reset(); }

    // ---- the thief
    void signal(bool would_find_nothing) {
        if (made(trusts_early) ? would_find_nothing : all->hides_nothing.load(order::seq_cst) != 0) return;
        if (all->signal_out.exchange(1, order::seq_cst) != 0) return;
        all->signals.fetch_add(1, order::seq_cst);
    }
    void park(unsigned me) {
        thief& t = all->thieves[me];
        t.parker.store(1, order::seq_cst);
        sync::fence(order::seq_cst);
        const bool early = made(trusts_early) && all->hides_nothing.load(order::seq_cst) != 0;
        if (!made(asks_late)) t.slot.ask_any();
        if (made(inserts_late)) {
            const bool working = all->working.load(order::seq_cst) != 0;
            all->askers.insert(me);
            if (working) {
                all->limit.store(0, order::relaxed);
                signal(early);
            }
        } else {
            all->askers.insert(me);
            if (made(asks_late)) t.slot.ask_any();
            if (all->working.load(order::seq_cst) != 0) {
                all->limit.store(0, order::relaxed);
                signal(early);
            }
        }
        while (t.parker.load(order::acquire) == 1) sync::yield();
        RL_ASSERT(t.slot.withdraw() != nullptr);
        t.has.store(1, order::release);
    }

    // ---- the victim
    void expose_to_askers() {
        while (all->exposed < all->linked) {
            const auto id = all->askers.take_one_in(0, Thieves + 1, 0);
            if (!id) return;
            thief& t = all->thieves[*id];
            if (!t.slot.answer(0, &all->entries[all->exposed])) continue;
            ++all->exposed;
            if (t.parker.load(order::relaxed) == 1) t.parker.exchange(0, order::acq_rel);
        }
        if (made(forgetful)) all->askers.take_one_in(0, Thieves + 1, 0);
    }
    void answer() {
        const bool trusted = all->hides_nothing.load(order::relaxed) != 0;
        if (trusted && !made(trusts_late)) all->hides_nothing.exchange(0, order::seq_cst);
        expose_to_askers();
        const bool nothing = all->exposed == all->linked || made(trusts_always);
        if (trusted && made(trusts_late)) all->hides_nothing.exchange(0, order::seq_cst);
        if (!all->askers.empty() && nothing) all->hides_nothing.store(1, order::seq_cst);
    }
    void on_signal() {
        if (made(plain_clear))
            all->signal_out.store(0, order::release);
        else if (!made(clears_late))
            all->signal_out.exchange(0, order::seq_cst);
        if (all->in_runtime) {
            if (!made(unmarked)) all->marked = true;
            if (made(clears_late)) all->signal_out.exchange(0, order::seq_cst);
            return;
        }
        answer();
        const bool ordinary = all->askers.empty() || made(reopens);
        if (made(clears_late)) all->signal_out.exchange(0, order::seq_cst);
        all->limit.store(ordinary ? 1 : 0, order::relaxed);
    }
    /// Between two instructions.
    void step() {
        while (all->signals.load(order::seq_cst) != 0) {
            all->signals.fetch_sub(1, order::seq_cst);
            on_signal();
        }
    }
    void leave_runtime() {
        for (;;) {
            bool asked = !all->askers.empty();
            step();
            if (asked || all->marked) {
                all->marked = false;
                step();
                answer();
                step();
                asked = !all->askers.empty();
                step();
            }
            all->limit.store(asked ? 0 : 1, order::relaxed);
            step();
            if (made(looks_early)) {
                const bool seen = all->marked;
                step();
                all->in_runtime = false;
                if (!seen) return;
            } else {
                all->in_runtime = false;
                step();
                if (!all->marked) return;
            }
            all->in_runtime = true;
            step();
        }
    }
    void work() {
        step();
        if (!made(works_late)) {
            all->working.store(1, order::seq_cst);
            step();
            sync::fence(order::seq_cst);
            step();
        }
        leave_runtime();
        if (made(works_late)) all->working.store(1, order::seq_cst);
        step();
        fork_and_stay();
    }
    void fork_and_stay() {
        for (int entry = 0; entry < Thieves; ++entry) {
            bool slow = made(compares_early) && all->limit.load(order::relaxed) == 0;
            step();
            ++all->linked;
            step();
            if (!made(compares_early)) slow = all->limit.load(order::relaxed) == 0;
            step();
            if (slow) {
                all->in_runtime = true;
                step();
                leave_runtime();
            }
            step();
        }
        stay_in_leaf();
    }
    void stay_in_leaf() {
        for (int t = 0; t < Thieves; ++t)
            while (all->thieves[t].has.load(order::acquire) == 0) {
                step();
                sync::yield();
            }
    }

    void thread(unsigned me) {
        if (me < Thieves)
            park(me);
        else
            work();
    }
};

// The victim is in its leaf when they come.
struct two_late_thieves : standing_asks<two_late_thieves, 2> {
    void before() {
        standing_asks::before();
        all->working.store(1, order::relaxed);
        all->limit.store(1, order::relaxed);
        all->in_runtime = false;
        all->linked = 2;
    }
    void thread(unsigned me) {
        if (me < 2)
            park(me);
        else
            stay_in_leaf();
    }
};

// The victim was asked by one that has withdrawn since, and has found that it hides nothing.
struct after_a_withdrawal : standing_asks<after_a_withdrawal, 1> {
    void before() {
        standing_asks::before();
        all->working.store(1, order::relaxed);
        all->in_runtime = false;
        all->askers.insert(1);
        all->hides_nothing.store(1, order::relaxed);
    }
    void thread(unsigned me) {
        if (me == 0)
            park(me);
        else
            fork_and_stay();
    }
};

struct one_thief : standing_asks<one_thief, 1> {};
struct two_thieves : standing_asks<two_thieves, 2> {};

constexpr scenario scenarios[] = {
    {"one_thief, bounded", 0, search<one_thief>},
    {"one_thief", 100000, search<one_thief>},
    {"after_a_withdrawal, bounded", 0, search<after_a_withdrawal>},
    {"after_a_withdrawal", 100000, search<after_a_withdrawal>},
    {"two_thieves", 200000, search<two_thieves>},
    {"two_late_thieves", 100000, search<two_late_thieves>},
};

constexpr const char* stores_are_never_late =
    "The store could be passed by the reading of the askers. Relacy performs every store where it stands.";

constexpr mutant mutants[] = {
    {clears_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {inserts_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {works_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {reopens, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {looks_early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {unmarked, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {forgetful, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {asks_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {compares_early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {trusts_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {trusts_early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {trusts_always, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {plain_clear, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit,
     stores_are_never_late},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
