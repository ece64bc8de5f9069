// Model check of the clock of a policy's ticks, which rests while no worker works (S7 of engine/idle/README.md): it does not
// sleep beside a worker that works. The parker is copied from threads/parker.hpp.
#include <cstdint>
#include <memory>

#include "members.hpp"
#include "relacy_run.hpp"

#include "engine/threads/rest.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* arms_late = "the parker armed after the look at the workers";
constexpr const char* begins_without_fence = "the worker without its fence";

/// Thread 0 is the clock, which ends when it has seen every worker work. The others begin to work once.
template <class Derived, int Workers>
struct clock_and_workers : rl::test_suite<Derived, Workers + 1> {
    struct state {
        parker_type parker;
        sync::atomic<std::uint32_t> working[Workers];
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        for (auto& w : all->working) w.store(0, order::relaxed);
    }
    void after() { all.reset(); }

    /// How many workers it sees.
    int seen() {
        int sum = 0;
        for (auto& w : all->working) sum += static_cast<int>(w.load(order::seq_cst));
        return sum;
    }
    void rest(int known) {
        const auto is_needed = [&] { return seen() > known; };
        if (!made(arms_late)) return engine::rest_unless<sync>(all->parker, is_needed);
        const bool needed = is_needed();
        all->parker.arm();
        sync::fence(order::seq_cst);
        if (!needed) all->parker.sleep();
        all->parker.disarm();
    }
    void thread(unsigned me) {
        if (me == 0) {
            for (int known = 0; (known = seen()) < Workers;) rest(known);
            return;
        }
        all->working[me - 1].store(1, made(begins_without_fence) ? order::relaxed : order::seq_cst);
        if (!made(begins_without_fence)) sync::fence(order::seq_cst);
        all->parker.wake();
    }
};

struct one_worker : clock_and_workers<one_worker, 1> {};
struct two_workers : clock_and_workers<two_workers, 2> {};

constexpr scenario scenarios[] = {
    {"one_worker, bounded", 0, search<one_worker>},
    {"one_worker", 50000, search<one_worker>},
    {"two_workers", 50000, search<two_workers>},
};

constexpr mutant mutants[] = {
    {"the clock without its fence", operation::fence, order::seq_cst, words::all, "::rest_unless(",
     mistake::omit},
    {arms_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {begins_without_fence, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
