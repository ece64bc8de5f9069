// Model check of the lead of a group of workers that need ticks (Y6): whenever a member needs ticks, one leads, or a tick is on
// its way to that member. The timer and the signal are a flag of each member.
#include <cstdint>
#include <memory>

#include "relacy_run.hpp"

#include "engine/threads/preemption/tick_lead.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* looks_first = "the lead given up after the look at the members";
constexpr const char* needs_late = "a member that needs ticks after its look at the leader";
constexpr const char* sends_to_none = "the lead given up silently";

struct member {
    sync::atomic<bool> ticks{false};
    sync::atomic<std::uint32_t> sent{0};  ///< a tick that has not arrived yet
    sync::atomic<std::uint32_t> armed{0}; ///< its timer; touched by its thread
};

/// Each member needs ticks and then does not, `Rounds` times; at last all but member 0 need them.
template <class Derived, int Members, int Rounds>
struct group : rl::test_suite<Derived, Members> {
    using leader = engine::tick_lead<sync, member>;
    struct state {
        leader lead;
        member of[Members];
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        bool some_lead = false, none_waits = true;
        for (member& m : all->of) {
            some_lead = some_lead || all->lead.is_led_by(m);
            // At the tick it takes the lead, if no member has it.
            if (m.ticks.load(order::seq_cst) && m.sent.load(order::seq_cst) == 0) none_waits = false;
        }
        RL_ASSERT(some_lead || none_waits);
        for (member& m : all->of) // a timer is armed if its member leads, and only then
            RL_ASSERT((m.armed.load(order::seq_cst) == 1) == all->lead.is_led_by(m));
        all.reset();
    }

    void try_to_lead(member& m) {
        if (all->lead.take(m)) m.armed.store(1, order::relaxed);
    }
    void tick(member& m) {
        if (m.sent.exchange(0, order::seq_cst) == 1 && m.ticks.load(order::relaxed)) try_to_lead(m);
    }
    void begin(member& m) {
        if (made(needs_late)) try_to_lead(m);
        leader::needs_ticks(m, true);
        if (!made(needs_late)) try_to_lead(m);
    }
    void end(member& m) {
        const auto stop = [&] { m.armed.store(0, order::relaxed); };
        const auto each = [&](auto&& f) {
            for (member& other : all->of) f(other);
        };
        const auto send = [&](member& other) { other.sent.store(1, order::seq_cst); };
        if (made(sends_to_none)) return all->lead.give_up(m, stop, [](auto&&) {}, send);
        if (!made(looks_first)) return all->lead.give_up(m, stop, each, send);
        if (all->lead.is_led_by(m))
            each([&](member& other) {
                if (&other != &m && other.ticks.load(order::seq_cst)) send(other);
            });
        all->lead.give_up(m, stop, [](auto&&) {}, send);
    }
    void thread(unsigned me) {
        member& m = all->of[me];
        for (int round = 0; round < Rounds; ++round) {
            begin(m);
            tick(m);
            end(m);
        }
        if (me == 0) return;
        begin(m);
        tick(m);
    }
};

struct two_members : group<two_members, 2, 1> {};
struct three_members : group<three_members, 3, 2> {};

constexpr scenario scenarios[] = {
    {"two_members, bounded", 0, search<two_members>},
    {"two_members", 100000, search<two_members>},
    {"three_members", 100000, search<three_members>},
};

constexpr mutant mutants[] = {
    {"the need said in a relaxed way", operation::store, order::seq_cst, words::numbers, "::needs_ticks(",
     mistake::relax},
    {"the leader read in a relaxed way", operation::load, order::seq_cst, words::pointers, "::take(",
     mistake::relax},
    {"the lead given up in a relaxed way", operation::store, order::seq_cst, words::pointers, "::give_up(",
     mistake::relax},
    {"the lead taken in two steps", operation::compare_exchange, order::seq_cst, words::pointers, "::take(",
     mistake::tear},
    {looks_first, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {needs_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {sends_to_none, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
