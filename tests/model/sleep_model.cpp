// Model check of announcing, parking and becoming inactive (S1 to S6 of engine/idle/README.md): no task stays
// beside a worker that sleeps. The steps are the engine's own (engine/idle/sleep_protocol.hpp and
// search.hpp); the parker is copied from threads/parker.hpp. A worker that has found a task does not search
// again, as if that task never ended.
#include <algorithm>
#include <memory>

#include "members.hpp"
#include "relacy_run.hpp"

#include "engine/idle/search.hpp"
#include "engine/idle/sleep_protocol.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

// Mistakes in the order of steps. The README of this folder says which of S1 to S6 each one breaks.
constexpr const char* looks_first = "the last look before the insertion into parked";
constexpr const char* trusts = "the second look at searching left out";
constexpr const char* silent = "the pending wake is not passed on";
constexpr const char* keeps_searching = "searching left after the pending wake was read";
constexpr const char* forgets = "the waker leaves no pending wake";
constexpr const char* adds_wake_late = "the pending wake left after the sleeper was taken out";
constexpr const char* arms_late = "the parker armed after the insertion into parked";
constexpr const char* keeps_wake = "the inactive worker passes nothing on";
constexpr const char* arms_inactive_late = "the parker armed after the look at the number of active workers";
constexpr const char* knows_early = "the number of active workers read before the announcer's fence";

/// `ToSearchers`: a wake is passed on to a worker that searches. `From` workers are active at first. If `To` differs, one thread changes the number to `To`.
template <class Derived, int Workers, int Tasks, int From = Workers, int To = From, bool ToSearchers = false>
struct sleeping : rl::test_suite<Derived, Workers + 1 + (From != To)> {
    using protocol_type = engine::sleep_protocol<member_list<Workers>, sync>;
    static constexpr workers all_of_them{0, Workers};

    struct state {
        queue::worker_set<sync> searching{Workers}, parked{Workers};
        member_list<Workers> members;
        sync::atomic<int> active{From};
        protocol_type protocol{searching, parked, members, active, ToSearchers};
        queue::worker_set<sync> nowhere{Workers};
        sync::atomic<std::uint32_t> tasks{0}; // at the place of the policy
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

    // ---- copies of the engine's steps with a mistake in one of them
    std::uint32_t active_part() { return static_cast<std::uint32_t>(all->active.load(order::relaxed)); }
    void add_pending_wake(std::uint32_t id) {
        auto& pending_wakes = all->members[id]->pending_wakes;
        std::uint64_t before = pending_wakes.load(order::relaxed);
        while (before != engine::pack(all_of_them))
            if (pending_wakes.compare_exchange_strong(before, engine::pack(all_of_them), order::seq_cst,
                                                      order::relaxed))
                return;
    }
    void wrong_wake_one(std::uint32_t near, std::uint32_t last) {
        if (made(adds_wake_late)) {
            const auto id = all->parked.take_one_in(0, last, near);
            if (!id) return;
            add_pending_wake(*id);
            return all->members[*id]->parker.wake();
        }
        while (const auto id = all->parked.find_in(0, last, near))
            if (all->parked.erase(*id)) return all->members[*id]->parker.wake(); // forgets
    }
    void wrong_announce() {
        std::uint32_t last = made(knows_early) ? active_part() : 0;
        sync::fence(order::seq_cst);
        if (!made(knows_early)) last = active_part();
        if (const auto searcher = all->searching.find_in(0, last, 0)) {
            add_pending_wake(*searcher);
            sync::fence(order::seq_cst);
            if (made(trusts) || all->searching.contains(*searcher)) return;
        }
        wake_one(0, last);
    }
    bool wrong_park(unsigned me) {
        auto& parker = all->members[me]->parker;
        bool found = made(looks_first) && next();
        if (!made(arms_late)) parker.arm();
        all->parked.insert(me);
        if (made(arms_late)) parker.arm();
        sync::fence(order::seq_cst);
        if (!made(looks_first)) found = next();
        if (!found && is_active(me)) parker.sleep();
        parker.disarm();
        all->parked.erase(me);
        return found;
    }
    bool wrong_pass_on(unsigned me) {
        auto& pending_wakes = all->members[me]->pending_wakes;
        if (made(silent)) return true;
        if (pending_wakes.load(order::seq_cst) == 0) return false;
        if (pending_wakes.exchange(0, order::acq_rel) != 0) wake_one(me, active_part());
        return true;
    }
    void wrong_stop_searching(unsigned me) {
        if (!made(keeps_searching)) all->searching.erase(me);
        wrong_pass_on(me);
        if (made(keeps_searching)) all->searching.erase(me);
    }
    void wrong_wait_inactive(unsigned me) {
        all->searching.erase(me);
        if (!made(keeps_wake) && !wrong_pass_on(me)) wake_one(me, active_part());
        auto& parker = all->members[me]->parker;
        for (;;) {
            if (!made(arms_inactive_late)) parker.arm();
            sync::fence(order::seq_cst);
            const bool back = is_active(me) || To < From;
            if (made(arms_inactive_late)) parker.arm();
            if (back) break;
            parker.sleep();
        }
        parker.disarm();
    }

    // ---- the engine's steps, or a copy with a mistake
    static bool wakes_wrong() { return made(adds_wake_late) || made(forgets); }
    bool is_active(unsigned me) { return all->protocol.is_active(static_cast<worker_id>(me)); }
    void wake_one(std::uint32_t near, std::uint32_t last) {
        if (wakes_wrong()) return wrong_wake_one(near, last);
        all->protocol.wake_one({0, static_cast<worker_id>(last)}, static_cast<worker_id>(near));
    }
    void announce() {
        if (made(trusts) || made(knows_early) || wakes_wrong()) return wrong_announce();
        all->protocol.announce(all_of_them, 0);
    }
    bool park(unsigned me, bool found = false) {
        if (made(looks_first) || made(arms_late)) return wrong_park(me);
        const auto id = static_cast<worker_id>(me);
        const auto look = [&] { return found || (found = next()) || !is_active(me); };
        if (all->protocol.begin_parking(id, [] {}, look)) all->members[me]->parker.sleep();
        all->protocol.end_parking(id);
        return found;
    }
    void stop_searching(unsigned me) {
        if (made(keeps_searching) || made(silent) || wakes_wrong()) return wrong_stop_searching(me);
        all->protocol.stop_searching(static_cast<worker_id>(me));
    }
    /// A worker that no scenario makes active again ends here.
    void wait_inactive(unsigned me) {
        if (made(keeps_wake) || made(arms_inactive_late) || made(silent) || wakes_wrong())
            return wrong_wait_inactive(me);
        all->protocol.wait_inactive(static_cast<worker_id>(me), [] { return To < From; });
    }

    // ---- the steps of engine::find_work()
    struct searcher {
        worker_id local;
        bool ended = false; ///< inactive, and never active again
    };
    struct look_type {
        bool t = false, ask = false;
    };
    struct every_look_is_the_last {
        void begin_look() {}
        bool is_spent() { return true; }
        void restart() {}
    };
    struct stopping {
        sleeping* of;
        stopping* operator->() { return this; }
        void stop_searching(worker_id me) { of->stop_searching(static_cast<unsigned>(me)); }
    };
    void before_first_look(searcher&) {}
    bool is_active(const searcher& w) { return is_active(static_cast<unsigned>(w.local)); }
    bool is_called(const searcher&) { return false; }
    look_type first_look(searcher&) { return {}; }
    look_type look(searcher&) { return {next()}; }
    void keeps_working(searcher&) {}
    void stops_working(searcher&) {}
    void search_ends(searcher&) {}
    void starts_working(searcher&) {}
    queue::worker_set<sync>& searching(const searcher& w) { return w.ended ? all->nowhere : all->searching; }
    stopping sleep(searcher&) { return {this}; }
    bool follow_call(searcher&) { return false; }
    bool take_share(searcher&) { return false; }
    bool bound_task(searcher&) { return false; }
    bool ask(searcher&, const look_type&) { return false; }
    bool park(searcher& w) { return park(static_cast<unsigned>(w.local)); }
    bool is_stopping(const searcher& w) { return w.ended; }
    every_look_is_the_last spin_budget(searcher&) { return {}; }
    void wait_inactive(searcher& w) {
        wait_inactive(static_cast<unsigned>(w.local));
        w.ended = To < From;
    }

    void find_work(unsigned me) {
        searcher w{static_cast<worker_id>(me)};
        const bool found = engine::find_work(*this, w);
        // The task of a worker that became inactive is not interrupted, and spawns one that the other workers
        // must find.
        if (found && To < From && static_cast<int>(me) >= To) place();
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
            all->protocol.resize(To, [] {});
    }
};

struct two_and_two : sleeping<two_and_two, 2, 2> {};
struct one_and_one : sleeping<one_and_one, 1, 1> {};
struct three_and_three : sleeping<three_and_three, 3, 3> {};
struct three_and_three_to_searchers : sleeping<three_and_three_to_searchers, 3, 3, 3, 3, true> {};
/// The last look of worker 0 finds a task; it leaves `parked` while another task is announced.
struct one_has_found : sleeping<one_has_found, 2, 1> {
    void thread(unsigned me) {
        if (me != 0) return sleeping::thread(me);
        park(me, true);
        all->searching.insert(me);
        stop_searching(me);
    }
};
struct one_leaves : sleeping<one_leaves, 2, 1, 2, 1> {};
struct one_comes_back : sleeping<one_comes_back, 2, 2, 1, 2> {};

constexpr scenario scenarios[] = {
    {"one_and_one, bounded", 0, search<one_and_one>},
    {"one_and_one", 50000, search<one_and_one>},
    {"one_has_found", 50000, search<one_has_found>},
    {"two_and_two", 100000, search<two_and_two>},
    {"one_leaves", 150000, search<one_leaves>},
    {"one_comes_back", 50000, search<one_comes_back>},
    {"three_and_three", 50000, search<three_and_three>},
    {"three_and_three, to searchers", 50000, search<three_and_three_to_searchers>},
};

constexpr mutant mutants[] = {
    {"the announcer without its first fence", operation::fence, order::seq_cst, words::all, "::announce(",
     mistake::omit},
    {"the sleeper without its fence", operation::fence, order::seq_cst, words::all, "::begin_parking(",
     mistake::omit},
    {looks_first, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {trusts, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {silent, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {keeps_searching, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {forgets, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {adds_wake_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {arms_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {keeps_wake, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {arms_inactive_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {"the inactive worker without its fence", operation::fence, order::seq_cst, words::all,
     "::wait_inactive(", mistake::omit},
    {"the number changed without a fence", operation::fence, order::seq_cst, words::all, "::resize(",
     mistake::omit},
    {knows_early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
