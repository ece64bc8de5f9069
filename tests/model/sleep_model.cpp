// Model check of announcing and sleeping: no task stays beside a worker that sleeps. The steps are copied
// from src/engine/threads/search.cpp (find_work, park, announce, owe, pass_watch_on, wake_one), active.cpp
// (set_active, stand_by, able) and sleeper.hpp, on the worker sets that the engine uses; a worker that has
// found a task does not come back, as if that task never ended.
#include <algorithm>
#include <memory>

#include "relacy_run.hpp"

#include "queue/worker_set.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;
using set_type = queue::worker_set<relacy_sync>;

// For mistakes in the order of steps.
bool made(std::string_view name) {
    return relacy_sync::active != nullptr && relacy_sync::active->name == name;
}
constexpr const char* looks_first = "the last look before the insertion into parked";
constexpr const char* trusts = "the second look at searching left out";
constexpr const char* silent = "the watch is not passed on";
constexpr const char* keeps_searching = "searching left after what is owed was read";
constexpr const char* forgets = "who wakes one leaves it no watch";
constexpr const char* owes_late = "the watch left after the sleeper was taken out";
constexpr const char* arms_late = "the bed armed after the insertion into parked";
constexpr const char* keeps_watch = "who stands by hands nothing on";
constexpr const char* stands_by_late = "the bed armed after the look at the number of active workers";
constexpr const char* knows_early = "the number of active workers read before the announcer's fence";

/// `From` workers are active at first, `To` in the end, if that is another number.
template <class Derived, int Workers, int Tasks, int From = Workers, int To = From>
struct sleeping : rl::test_suite<Derived, Workers + 1 + (From != To)> {
    struct worker {
        sync::atomic<std::uint32_t> bed{0}; // 1: armed
        sync::atomic<std::uint32_t> owed{0};
    };
    struct state {
        set_type searching{Workers}, parked{Workers};
        sync::atomic<std::uint32_t> tasks{0}; // the policy's place
        sync::atomic<std::uint32_t> active{From};
        worker crew[Workers];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        RL_ASSERT(all->tasks.load(order::relaxed) == 0);
        all.reset();
    }

    bool next() {
        std::uint32_t seen = all->tasks.load(order::relaxed);
        while (seen != 0)
            if (all->tasks.compare_exchange_strong(seen, seen - 1, order::acquire, order::relaxed))
                return true;
        return false;
    }

    void wake(std::uint32_t id) {
        auto& bed = all->crew[id].bed;
        if (bed.load(order::relaxed) != 1) return;
        bed.exchange(0, order::acq_rel);
    }
    void sleep(unsigned me) {
        while (all->crew[me].bed.load(order::acquire) == 1) sync::yield();
    }

    void owe(std::uint32_t id) {
        auto& owed = all->crew[id].owed;
        std::uint32_t before = owed.load(order::relaxed);
        while (before != 1)
            if (owed.compare_exchange_strong(before, 1, order::seq_cst, order::relaxed)) return;
    }
    std::uint32_t able() { return From == To ? Workers : all->active.load(order::relaxed); }
    void wake_one(std::uint32_t near, std::uint32_t last = Workers) {
        if (made(owes_late)) {
            const auto id = all->parked.take_one_in(0, last, near);
            if (!id) return;
            owe(*id);
            return wake(*id);
        }
        while (const auto id = all->parked.find_in(0, last, near)) {
            if (!made(forgets)) owe(*id);
            // Whoever finds itself erased sees what it owes.
            if (all->parked.erase(*id)) return wake(*id);
        }
    }
    void pass_watch_on(unsigned me) {
        if (made(silent)) return;
        if (all->crew[me].owed.load(order::seq_cst) == 0) return;
        if (all->crew[me].owed.exchange(0, order::acq_rel) != 0) wake_one(me, able());
    }
    void announce() {
        std::uint32_t last = made(knows_early) ? able() : 0;
        sync::fence(order::seq_cst);
        if (!made(knows_early)) last = able();
        if (const auto searcher = all->searching.find_in(0, last, 0)) {
            owe(*searcher);
            sync::fence(order::seq_cst);
            if (made(trusts) || all->searching.contains(*searcher)) return;
        }
        wake_one(0, last);
    }

    bool is_active(unsigned me) { return From == To || me < all->active.load(order::relaxed); }
    void set_active() {
        all->active.store(To, order::relaxed);
        sync::fence(order::seq_cst);
        for (std::uint32_t w = std::min(From, To); w < std::max(From, To); ++w) wake(w);
    }
    void hand_on(unsigned me) {
        if (made(keeps_watch)) return;
        if (all->crew[me].owed.load(order::seq_cst) != 0)
            pass_watch_on(me);
        else
            wake_one(me, able());
    }
    /// False where it stays so.
    bool stand_by(unsigned me) {
        all->searching.erase(me);
        hand_on(me);
        if (To < From) return false;
        auto& bed = all->crew[me].bed;
        for (;;) {
            if (!made(stands_by_late)) bed.store(1, order::seq_cst);
            sync::fence(order::seq_cst);
            const bool back = me < all->active.load(order::relaxed);
            if (made(stands_by_late)) bed.store(1, order::seq_cst);
            if (back) break;
            sleep(me);
        }
        bed.store(0, order::relaxed);
        all->searching.insert(me);
        return true;
    }

    bool park(unsigned me) {
        auto& bed = all->crew[me].bed;
        bool found = made(looks_first) && next();
        if (!made(arms_late)) bed.store(1, order::seq_cst);
        all->parked.insert(me);
        if (made(arms_late)) bed.store(1, order::seq_cst);
        sync::fence(order::seq_cst);
        if (!made(looks_first)) found = next();
        if (!found && is_active(me)) sleep(me);
        bed.store(0, order::relaxed);
        all->parked.erase(me);
        return found;
    }
    void find_work(unsigned me) {
        all->searching.insert(me);
        bool found = false;
        while (!found) {
            if (!is_active(me)) {
                if (!stand_by(me)) return;
                continue;
            }
            found = next();
            if (!found) {
                all->searching.erase(me);
                found = park(me);
                all->searching.insert(me);
            }
        }
        if (made(keeps_searching)) pass_watch_on(me);
        all->searching.erase(me);
        if (!made(keeps_searching)) pass_watch_on(me);
        // A task that is not interrupted, and spawns one that the others have to find.
        if (To < From && me >= To) place();
    }
    void place() {
        all->tasks.fetch_add(1, order::release);
        announce();
    }

    void thread(unsigned me) {
        if (me < Workers)
            find_work(me);
        else if (me == Workers)
            for (int i = 0; i < Tasks; ++i) place();
        else
            set_active();
    }
};

struct two_and_two : sleeping<two_and_two, 2, 2> {};
struct one_and_one : sleeping<one_and_one, 1, 1> {};
struct three_and_three : sleeping<three_and_three, 3, 3> {};
struct one_leaves : sleeping<one_leaves, 2, 1, 2, 1> {};
struct one_comes_back : sleeping<one_comes_back, 2, 2, 1, 2> {};

constexpr scenario scenarios[] = {
    {"one_and_one, bounded", 0, search<one_and_one>}, {"one_and_one", 100000, search<one_and_one>},
    {"two_and_two", 200000, search<two_and_two>},     {"three_and_three", 100000, search<three_and_three>},
    {"one_leaves", 200000, search<one_leaves>},       {"one_comes_back", 100000, search<one_comes_back>},
};

constexpr mutant mutants[] = {
    {"the announcer without its first fence", operation::fence, order::seq_cst, words::all, "::announce(",
     mistake::omit},
    {"the sleeper without its fence", operation::fence, order::seq_cst, words::all, "::park(", mistake::omit},
    {looks_first, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {trusts, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {silent, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {keeps_searching, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {forgets, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {owes_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {arms_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {keeps_watch, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {stands_by_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {"who stands by without its fence", operation::fence, order::seq_cst, words::all, "::stand_by(",
     mistake::omit},
    {"the number changed without a fence", operation::fence, order::seq_cst, words::all, "::set_active(",
     mistake::omit},
    {knows_early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
