// Model check of the claims to a core that another program lends: no two programs have it at the same time (U1 of
// share/README.md), of several that want it one gets it (U2), and one that died stops none (U3).
#include <cstdint>
#include <memory>

#include "relacy_run.hpp"

#include "share/core_claims.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;
using claims = share::core_claims<sync>;

constexpr const char* uses_while_it_waits = "a claim that waits counts as one that holds";
constexpr const char* all_withdraw = "the earlier program withdraws, too";
constexpr const char* leaves_late = "the claim withdrawn before the core is left";
constexpr const char* counts_the_dead = "the claim of a dead program counts";

template <int Programs>
struct board {
    sync::atomic<std::uint32_t> claimed[Programs]; ///< each written by its program
    sync::atomic<std::uint32_t> lives[Programs];   ///< the kernel's
    sync::atomic<std::uint32_t> users{0};          ///< of the core

    board() {
        for (auto& c : claimed) c.store(0, order::relaxed);
        for (auto& l : lives) l.store(1, order::relaxed);
    }
};

template <int Programs>
struct program {
    board<Programs>& on;
    int self;

    share::rivals look() {
        auto found = share::rivals::none;
        for (int i = 0; i < Programs; ++i) {
            if (i == self || on.claimed[i].load(order::relaxed) == 0) continue;
            if (!made(counts_the_dead) && on.lives[i].load(order::relaxed) == 0) continue;
            if (i < self || made(all_withdraw)) return share::rivals::earlier;
            found = share::rivals::later;
        }
        return found;
    }
    void claim() { on.claimed[self].store(1, order::relaxed); }
    void withdraw() { on.claimed[self].store(0, order::relaxed); }

    bool has(share::claimed c) const {
        return c == share::claimed::held || (made(uses_while_it_waits) && c == share::claimed::waits);
    }
    void use() {
        RL_ASSERT(on.users.fetch_add(1, order::relaxed) == 0); // U1
        if (made(leaves_late)) withdraw();
        on.users.fetch_sub(1, order::relaxed);
        withdraw();
    }
};

template <class Derived, int Programs, int Threads = Programs>
struct with_board : rl::test_suite<Derived, Threads> {
    std::unique_ptr<board<Programs>> all;
    void before() { all = std::make_unique<board<Programs>>(); }
    void after() { all.reset(); }
};

/// Programs take the core, use it and leave it, each several times.
template <int Programs, int Times>
struct takers : with_board<takers<Programs, Times>, Programs> {
    void thread(unsigned me) {
        program<Programs> self{*this->all, static_cast<int>(me)};
        for (int i = 0; i < Times; ++i) {
            auto state = claims::take(self);
            for (int again = 0; again < 2 && state == share::claimed::waits && !self.has(state); ++again)
                state = claims::confirm(self);
            if (self.has(state))
                self.use();
            else if (state == share::claimed::waits)
                self.withdraw(); // it wants the core no more
        }
    }
};

/// Two programs want the core, and no other one has it: one gets it.
struct contenders : with_board<contenders, 2> {
    sync::atomic<std::uint32_t> claimed_by{0};
    void before() {
        with_board::before();
        claimed_by.store(0, order::relaxed);
    }
    void thread(unsigned me) {
        program<2> self{*all, static_cast<int>(me)};
        if (claims::take(self) != share::claimed::refused) claimed_by.fetch_add(1, order::relaxed);
    }
    void after() {
        RL_ASSERT(claimed_by.load(order::relaxed) >= 1); // U2
        with_board::after();
    }
};

/// The first program dies with its claim; the other one gets the core once the kernel says so.
struct one_dies : with_board<one_dies, 2> {
    void thread(unsigned me) {
        program<2> self{*all, static_cast<int>(me)};
        if (me == 0) {
            static_cast<void>(claims::take(self));
            all->lives[0].store(0, order::relaxed);
            return;
        }
        while (all->lives[0].load(order::relaxed) != 0) sync::yield();
        RL_ASSERT(claims::take(self) == share::claimed::held); // U3
    }
};

constexpr scenario scenarios[] = {
    {"takers, bounded", 0, search<takers<2, 2>>},   {"takers", 100000, search<takers<2, 2>>},
    {"three takers", 100000, search<takers<3, 1>>}, {"contenders, bounded", 0, search<contenders>},
    {"contenders", 20000, search<contenders>},      {"one dies, bounded", 0, search<one_dies>},
    {"one dies", 20000, search<one_dies>},
};

constexpr mutant mutants[] = {
    {"looks at the others before its claim", operation::fence, order::seq_cst, words::all, "::take(",
     mistake::omit},
    {uses_while_it_waits, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {all_withdraw, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {leaves_late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {counts_the_dead, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
