// Model check of the shares of a moldable task (M1 to M4 of engine/team/README.md): each worker of the place finds its share, also
// if it is about to sleep or becomes inactive, and the share that ends last sees what the others have written. The sleep is the engine's own
// (engine/idle/sleep_protocol.hpp), and so is the lock; mold(), the count-down of graph/run.cpp and the queues of
// policy/parts/assembly_queues.hpp, with their look without the lock, are copied.
#include <cstdint>
#include <memory>
#include <mutex>

#include "members.hpp"
#include "relacy_run.hpp"

#include "engine/idle/sleep_protocol.hpp"
#include "queue/spin_lock.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* late = "the shares are counted after they are handed over";
constexpr const char* leader_only = "only the leader is told";
constexpr const char* blind = "a last look does not see the share";
constexpr const char* not_told = "no inactive worker is told";
constexpr const char* rests = "an inactive worker does not look for its share";

/// Worker 0 molds a task for all workers, and runs its own share. `Active`: one more thread leaves so many workers active.
template <class Derived, int Workers, int Active = Workers>
struct molding : rl::test_suite<Derived, Workers + (Active < Workers ? 1 : 0)> {
    using members_type = member_list<Workers>;
    struct state {
        queue::worker_set<sync> searching{Workers}, parked{Workers};
        members_type members;
        sync::atomic<int> active{Workers};
        engine::sleep_protocol<members_type, sync> protocol{searching, parked, members, active};
        queue::spin_lock<sync> lock;
        sync::var<int> share[Workers];     // in the queue of each worker; under the lock
        sync::atomic<int> length[Workers]; // likewise, read without it
        sync::atomic<int> shares_left{0};
        sync::var<int> written[Workers];
        sync::atomic<int> ends{0};
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        for (int w = 0; w < Workers; ++w) {
            all->share[w].set(0), all->written[w].set(0);
            all->length[w].store(0, order::relaxed);
        }
    }
    void after() {
        RL_ASSERT(all->ends.load(order::relaxed) == 1);
        all.reset();
    }

    void put() {
        const std::lock_guard held(all->lock);
        for (int w = 0; w < Workers; ++w) {
            all->share[w].set(1);
            all->length[w].store(1, order::relaxed);
        }
    }
    bool take(unsigned me) {
        if (all->length[me].load(order::relaxed) == 0) return false;
        const std::lock_guard held(all->lock);
        if (all->share[me].get() == 0) return false;
        all->share[me].set(0);
        all->length[me].store(0, order::relaxed);
        return true;
    }
    void mold() {
        if (!made(late)) all->shares_left.store(Workers, order::relaxed);
        put();
        if (made(late)) all->shares_left.store(Workers, order::relaxed);
        sync::fence(order::seq_cst);
        const int active = all->active.load(order::relaxed);
        for (int w = 1; w < Workers && !made(leader_only); ++w)
            if (w < active || made(not_told))
                all->protocol.announce({w, w + 1}, 0);
            else
                all->members[static_cast<unsigned>(w)]->parker.wake();
    }
    bool has(unsigned me) { return all->length[me].load(order::relaxed) > 0; }
    void run_share(unsigned me) {
        all->written[me].set(1);
        if (!count_down()) return;
        int sum = 0;
        for (int w = 0; w < Workers; ++w) sum += all->written[w].get(); // what a successor may read
        RL_ASSERT(sum == Workers);
        all->ends.fetch_add(1, order::relaxed);
    }
    bool count_down() { return all->shares_left.fetch_sub(1, order::acq_rel) == 1; }

    void find_share(unsigned me) {
        const auto id = static_cast<worker_id>(me);
        all->searching.insert(me);
        while (!take(me)) {
            if (!all->protocol.is_active(id)) {
                all->protocol.wait_inactive(id, [&] { return !made(rests) && has(me); });
                all->searching.insert(me);
                continue;
            }
            all->searching.erase(me);
            bool found = false;
            if (all->protocol.begin_parking(id, [] {}, [&] { return found = !made(blind) && take(me); }))
                all->members[me]->parker.sleep();
            all->protocol.end_parking(id);
            all->searching.insert(me);
            if (found) break;
        }
        all->protocol.stop_searching(id);
    }
    void thread(unsigned me) {
        if (me == 0) {
            mold();
            if (!take(me)) RL_ASSERT(false);
        } else if (me == Workers) {
            return all->protocol.resize(Active, [] {});
        } else {
            find_share(me);
        }
        run_share(me);
    }
};

struct of_two : molding<of_two, 2> {};
struct of_three : molding<of_three, 3> {};
struct one_leaves : molding<one_leaves, 2, 1> {};
struct two_leave : molding<two_leave, 3, 1> {};

constexpr scenario scenarios[] = {
    {"of_two", 20000, search<of_two>},
    {"of_three", 10000, search<of_three>},
    {"one_leaves", 50000, search<one_leaves>},
    {"two_leave", 10000, search<two_leave>},
};

constexpr mutant mutants[] = {
    {"a share counts down relaxed", operation::fetch, order::acq_rel, words::numbers, "::count_down(",
     mistake::relax},
    {"a share counts down in two steps", operation::fetch, order::acq_rel, words::numbers, "::count_down(",
     mistake::tear},
    {late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {leader_only, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {blind, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {"the number is read without a fence", operation::fence, order::seq_cst, words::all, "::mold(",
     mistake::omit},
    {not_told, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {rests, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
