// Model check of the worker set, alone and as what it is for: putting workers to sleep without losing a
// wake-up.
#include <memory>

#include "relacy_run.hpp"

#include "queue/worker_set.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using set_type = queue::worker_set<relacy_sync>;

// Neighbours in one word insert themselves; two takers compete for them and read what they left.
struct competition : rl::test_suite<competition, 4> {
    struct state {
        set_type ids{2};
        relacy_sync::var<int> left[2];
        int taken[2] = {}; // the threads of a model take turns on one real thread
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        while (const auto id = all->ids.take_one_in(0, 2, 1)) ++all->taken[*id];
        RL_ASSERT(all->taken[0] == 1 && all->taken[1] == 1);
        RL_ASSERT(all->ids.empty());
        all.reset();
    }
    void took(std::uint32_t id) {
        RL_ASSERT(all->left[id].get() == static_cast<int>(id) + 1);
        RL_ASSERT(++all->taken[id] == 1);
    }
    void thread(unsigned me) {
        if (me < 2) {
            all->left[me].set(static_cast<int>(me) + 1);
            RL_ASSERT(all->ids.insert(me));
        } else if (me == 2) {
            if (const auto id = all->ids.take_one_in(0, 2, 0)) took(*id);
            if (const auto id = all->ids.take_one_in(0, 2, 1)) took(*id);
        } else {
            if (all->ids.erase(1)) took(1);
            if (all->ids.erase(0)) took(0);
        }
    }
};

// Two workers need one job each; a third thread hands out two jobs, each followed by one wake-up. A worker
// that sleeps beside a job never ends, which the checker reports as a livelock.
struct sleep_protocol : rl::test_suite<sleep_protocol, 3> {
    static constexpr unsigned k_workers = 2;

    struct state {
        set_type sleepers{k_workers};
        relacy_sync::atomic<std::uint32_t> jobs{0u};
        relacy_sync::atomic<std::uint32_t> woken[k_workers];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        RL_ASSERT(all->jobs.load(order::relaxed) == 0);
        RL_ASSERT(all->sleepers.empty());
        all.reset();
    }

    bool take_job() {
        std::uint32_t seen = all->jobs.load(order::relaxed);
        while (seen != 0) {
            if (all->jobs.compare_exchange_strong(seen, seen - 1, order::acquire, order::relaxed))
                return true;
        }
        return false;
    }

    void sleep_until_woken(unsigned me) {
        while (all->woken[me].exchange(0, order::acquire) == 0) relacy_sync::yield();
    }

    void work(unsigned me) {
        while (!take_job()) {
            all->sleepers.insert(me);
            relacy_sync::fence(order::seq_cst);
            const bool some = all->jobs.load(order::relaxed) != 0;
            // Not in any more: a waker took this worker, and its wake-up is on the way.
            if (some && all->sleepers.erase(me)) continue;
            sleep_until_woken(me);
        }
    }

    void expose_to_askers() {
        all->jobs.fetch_add(1, order::release);
        relacy_sync::fence(order::seq_cst);
        if (const auto id = all->sleepers.take_one_in(0, k_workers, 0))
            all->woken[*id].store(1, order::release);
    }

    void thread(unsigned me) {
        if (me < k_workers) {
            work(me);
        } else {
            expose_to_askers();
            expose_to_askers();
        }
    }
};

constexpr scenario scenarios[] = {
    {"competition", 100000, search<competition>},
    {"sleep_protocol", 100000, search<sleep_protocol>},
};

constexpr mutant mutants[] = {
    {"insert in two steps", operation::fetch, order::seq_cst, words::numbers, "::insert(", mistake::tear},
    {"erase in two steps", operation::fetch, order::seq_cst, words::numbers, "::erase(", mistake::tear},
    {"insert relaxed", operation::fetch, order::seq_cst, words::numbers, "::insert(", mistake::relax},
    {"erase relaxed", operation::fetch, order::seq_cst, words::numbers, "::erase(", mistake::relax},
    {"the sleeper without its fence", operation::fence, order::seq_cst, words::all, "::work(", mistake::omit},
    {"the waker without its fence", operation::fence, order::seq_cst, words::all, "::expose_to_askers(",
     mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
