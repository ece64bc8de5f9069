// Model check of the pools of a packing scheduler (P1 of policy/parts/packed_pools.hpp): no task stays in a pool whose owner
// sleeps, although only the owner looks there and the owner changes with the number of active workers. The sleep is the engine's
// own (engine/idle/sleep_protocol.hpp); the parker is copied from threads/parker.hpp.
#include <cstdint>
#include <memory>

#include "members.hpp"
#include "relacy_run.hpp"

#include "engine/idle/sleep_protocol.hpp"
#include "policy/parts/packed_pools.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* trusts = "the number of active workers is not read again";
constexpr const char* silent = "the workers that stay active are not woken";

/// One thread puts a task into a pool, while another one changes the number of active workers. There are as many workers here as
/// are active at some time.
template <class Derived, int Pools, int Pool, int From, int To>
struct packing : rl::test_suite<Derived, (From > To ? From : To) + 2> {
    static constexpr int workers_here = From > To ? From : To;
    using members_type = member_list<workers_here>;
    struct state {
        queue::worker_set<sync> searching{workers_here}, parked{workers_here};
        members_type members;
        sync::atomic<int> active{From};
        engine::sleep_protocol<members_type, sync> protocol{searching, parked, members, active};
        sync::atomic<std::uint32_t> tasks{0}, ended{0};
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        RL_ASSERT(all->tasks.load(order::relaxed) == 0);
        all.reset();
    }

    packed_pools split() { return {Pools, all->active.load(order::relaxed)}; }
    bool is_active(unsigned me) { return all->protocol.is_active(static_cast<worker_id>(me)); }
    bool is_over() { return all->ended.load(order::seq_cst) != 0; }

    /// The look of worker `me`; with the task it ends the scenario.
    bool takes(unsigned me) {
        const packed_pools now = split();
        const auto id = static_cast<worker_id>(me);
        if (now.is_shared(Pool) ? id >= now.active : id != now.owner(Pool)) return is_over();
        std::uint32_t seen = all->tasks.load(order::relaxed);
        if (seen == 0 || !all->tasks.compare_exchange_strong(seen, seen - 1, order::acquire, order::relaxed))
            return is_over();
        all->ended.store(1, order::seq_cst);
        sync::fence(order::seq_cst);
        for (auto& other : all->members.all) other.parker.wake();
        return true;
    }
    void work(unsigned me) {
        const auto id = static_cast<worker_id>(me);
        all->searching.insert(me);
        for (bool over = false; !over;) {
            if (!is_active(me)) {
                all->protocol.wait_inactive(id, [&] { return is_over(); });
                if (is_over()) return;
                all->searching.insert(me);
            }
            if (takes(me)) break;
            all->searching.erase(me);
            const auto look = [&] { return (over = takes(me)) || !is_active(me); };
            if (all->protocol.begin_parking(id, [] {}, look)) all->members[me]->parker.sleep();
            all->protocol.end_parking(id);
            if (!over) all->searching.insert(me);
        }
        all->protocol.stop_searching(id);
    }
    /// policy_context::wake() of all active workers.
    void wake_all() {
        sync::fence(order::seq_cst);
        for (std::uint32_t w = 0; w < workers_here; ++w)
            if (all->parked.erase(w)) all->members[w]->parker.wake();
    }
    void put() {
        const packed_pools before = split();
        all->tasks.fetch_add(1, order::release);
        const workers who = workers_for<sync>(
            Pool, before, [&] { return made(trusts) ? before.active : split().active; }, [&] { wake_all(); });
        all->protocol.announce(who, 0);
    }
    void thread(unsigned me) {
        if (me < workers_here)
            work(me);
        else if (me == workers_here)
            put();
        else
            all->protocol.resize(To, [&] {
                if (!made(silent)) wake_all();
            });
    }
};

struct shrinks : packing<shrinks, 2, 1, 2, 1> {};
struct grows : packing<grows, 2, 1, 1, 2> {};
struct shared_by_three_to_one_of_two : packing<shared_by_three_to_one_of_two, 4, 3, 3, 2> {};

constexpr scenario scenarios[] = {
    {"shrinks", 20000, search<shrinks>},
    {"grows", 20000, search<grows>},
    {"shared_by_three_to_one_of_two", 20000, search<shared_by_three_to_one_of_two>},
};

constexpr mutant mutants[] = {
    {"ready() without its fence", operation::fence, order::seq_cst, words::all, "workers_for(",
     mistake::omit},
    {trusts, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {silent, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
