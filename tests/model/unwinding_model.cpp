// Model check of a join's end: an exception leaves the first closure, or it returns, while a thief has, is
// taking, or is about to be given the second. The second closure runs at most once, exactly once if nothing
// was thrown; its outcome dies once; the frame is destroyed only when no thread touches it any more. Frame,
// unwinding (join_frame::abandon) and return (was_run) are the library's own, so are the slot and the
// completion; the steps of slow_pop (join.cpp), of the handler (exposure.cpp) and of the way out (switch.hpp)
// are copied. The checker has no signals: the owner's thread looks for one between any two of its steps.
#include <memory>
#include <new>

#include "relacy_run.hpp"

#include "engine/idle/ask_slot.hpp"
#include "engine/run/completion.hpp"
#include "queue/worker_set.hpp"

#include <weft/impl/join_frame.hpp>

namespace weft::impl {
extern "C" {
thread_local constinit hot_words weft_hot{};
}
} // namespace weft::impl

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;
using completion = engine::completion<sync>;

// Mistakes in the order of steps.
constexpr const char* looks_first = "the frame compared before it is unlinked";
constexpr const char* waits_not = "unwinds without waiting for the thief";
constexpr const char* leaks = "the outcome that no wait takes is left";
constexpr const char* keeps_split = "the frame stays the youngest exposed one";
constexpr const char* early = "the owner published before it is saved";
constexpr const char* late = "the thief writes the outcome after it has told";

// What the second closure returns, and how many of them live.
struct probe {
    static inline int alive = 0; // the threads of a model take turns on one real thread

    explicit probe(int value) : value_(value) { ++alive; }
    probe(probe&& other) noexcept : value_(other.value_.get()) { ++alive; }
    ~probe() {
        RL_ASSERT(value_.get() == 42);
        --alive;
    }

private:
    sync::var<int> value_;
};

struct second_closure {
    sync::var<int>& captured;
    int& ran;
    bool throws;

    probe operator()() {
        RL_ASSERT(captured.get() == 7);
        RL_ASSERT(++ran == 1);
        if (throws) throw 1; // nothing of the checker is called before it is caught
        return probe(42);
    }
};
using frame = impl::join_frame<second_closure>;

// The door of slow_pop to the test that is running.
struct owner_side {
    virtual impl::outcome slow_pop(impl::frame* parent, impl::frame* f) = 0;
};
owner_side* owner = nullptr;

enum class end { returns, throws };

// `End` is the first closure's, `Second` the second's. The thief asks for the one frame; it may give up.
template <class Derived, end End, end Second>
struct ending : rl::test_suite<Derived, 2>, owner_side {
    static constexpr std::uintptr_t waiter = 8;

    struct state {
        queue::worker_set<sync> askers{2};
        engine::ask_slot<sync> slot; // of the thief
        completion done;             // of the frame
        sync::var<int> captured{0};
        sync::var<int> saved{0}; // the owner's context
        sync::atomic<std::uint32_t> limit{1}, signals{0}, resumed{0};
        // The owner's own, its handler's too.
        impl::frame root{};
        impl::frame* split = &root;
        bool in_runtime = false, marked = false;
        int ran = 0, exposures = 0, returned = 0;
    };
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        probe::alive = 0;
        owner = this;
    }
    void after() {
        RL_ASSERT(probe::alive == 0);
        RL_ASSERT(all->split == &all->root);
        if (End == end::returns) RL_ASSERT(all->ran == 1);
        if (all->exposures > all->returned) RL_ASSERT(all->ran == 1);
        all.reset();
        owner = nullptr;
    }

    // ---- the thief
    void run(impl::frame* f) {
        if (!f) return;
        if (made(late)) {
            const std::uintptr_t told = all->done.finish(Second == end::throws);
            f->run(f);
            return wake(told);
        }
        const bool ok = f->run(f);
        wake(all->done.finish(!ok));
    }
    void wake(std::uintptr_t told) {
        if (told == 0) return;
        RL_ASSERT(told == waiter);
        RL_ASSERT(all->saved.get() == 1);
        all->resumed.store(1, order::release);
    }
    void steal() {
        all->slot.ask(1);
        all->askers.insert(0);
        all->limit.store(0, order::relaxed);
        for (int look = 0; look < 3; ++look) {
            if (impl::frame* const f = all->slot.take()) return run(f);
            if (look == 0) all->signals.fetch_add(1, order::seq_cst);
            sync::pause();
        }
        run(all->slot.withdraw());
    }

    // ---- the owner
    void expose_to_askers() {
        impl::frame* const entry = all->split->next;
        if (!entry || !all->askers.take_one_in(0, 1, 0)) return;
        entry->thief = 0;
        impl::frame* const before = all->split;
        all->split = entry;
        if (all->slot.answer(1, entry))
            ++all->exposures;
        else
            all->split = before;
    }
    void on_signal() {
        if (all->in_runtime) {
            all->marked = true;
            return;
        }
        expose_to_askers();
        all->limit.store(all->askers.empty() ? 1 : 0, order::relaxed);
    }
    /// Between two instructions.
    void step() {
        while (all->signals.load(order::seq_cst) != 0) {
            all->signals.fetch_sub(1, order::seq_cst);
            on_signal();
        }
    }
    void enter_runtime() {
        step();
        all->in_runtime = true;
        step();
    }
    void leave_runtime() {
        for (;;) {
            bool asked = !all->askers.empty();
            step();
            if (asked || all->marked) {
                all->marked = false;
                expose_to_askers();
                asked = !all->askers.empty();
                step();
            }
            all->limit.store(asked ? 0 : 1, order::relaxed);
            step();
            all->in_runtime = false;
            step();
            if (!all->marked) return;
            all->in_runtime = true;
        }
    }
    impl::outcome join_exposed(impl::frame* parent, impl::frame* f) {
        if (!made(keeps_split)) all->split = parent;
        if (all->slot.reclaim(f)) {
            ++all->returned;
            return impl::outcome::not_run;
        }
        step();
        if (all->done.poll() == completion::running) {
            if (!made(early)) all->saved.set(1);
            const bool sleeps = all->done.wait(waiter);
            if (made(early)) all->saved.set(1);
            while (sleeps && all->resumed.load(order::acquire) == 0) sync::yield();
        }
        return all->done.poll() == completion::failed ? impl::outcome::failed : impl::outcome::value;
    }
    impl::outcome slow_pop(impl::frame* parent, impl::frame* f) override {
        enter_runtime();
        impl::outcome how = impl::outcome::not_run;
        if (f == all->split) how = join_exposed(parent, f);
        leave_runtime();
        return how;
    }
    /// True if the frame was exposed, or a thief asks.
    bool at_limit(impl::frame* f) { return all->limit.load(order::relaxed) == 0 || all->split == f; }

    void abandon(frame& second) {
        impl::frame* const parent = &all->root;
        if (made(waits_not)) {
            parent->next = nullptr;
            if (all->split == &second) all->split = parent;
        } else if (made(looks_first)) {
            const impl::outcome how = slow_pop(parent, &second);
            step();
            parent->next = nullptr;
            if (how == impl::outcome::value) std::destroy_at(std::addressof(second.value));
            if (how == impl::outcome::failed) std::destroy_at(std::addressof(second.error));
        } else if (made(leaks)) {
            parent->next = nullptr;
            static_cast<void>(slow_pop(parent, &second));
        } else {
            second.abandon<false>(parent);
        }
    }
    void come_back(frame& second) {
        impl::frame* const parent = &all->root;
        parent->next = nullptr;
        step();
        bool run = false;
        if (at_limit(&second)) {
            try {
                run = second.was_run(parent);
                if (run) static_cast<void>(second.take_value());
            } catch (int) { run = true; }
        }
        if (run) return;
        try {
            static_cast<void>(second.g());
        } catch (int) {}
    }
    void fork() {
        auto* const second = ::new (relacy_memory::allocate(sizeof(frame)))
            frame(second_closure{all->captured, all->ran, Second == end::throws});
        all->captured.set(7);
        second->next = nullptr;
        step();
        all->root.next = second;
        step();
        if (at_limit(second)) { // slow_push
            enter_runtime();
            leave_runtime();
        }
        step(); // the first closure
        step();
        if (End == end::throws)
            abandon(*second);
        else
            come_back(*second);
        all->captured.set(0); // what the closure refers to goes with the frame
        second->~frame();
        relacy_memory::release(second, sizeof(frame));
    }

    void thread(unsigned me) {
        if (me == 0)
            steal();
        else
            fork();
    }
};

struct throws_past_a_value final : ending<throws_past_a_value, end::throws, end::returns> {};
struct throws_past_a_failure final : ending<throws_past_a_failure, end::throws, end::throws> {};
struct returns_to_a_value final : ending<returns_to_a_value, end::returns, end::returns> {};
struct returns_to_a_failure final : ending<returns_to_a_failure, end::returns, end::throws> {};

constexpr scenario scenarios[] = {
    {"throws_past_a_value, bounded", 0, search<throws_past_a_value>},
    {"throws_past_a_value", 100000, search<throws_past_a_value>},
    {"throws_past_a_failure", 50000, search<throws_past_a_failure>},
    {"returns_to_a_value", 50000, search<returns_to_a_value>},
    {"returns_to_a_failure", 50000, search<returns_to_a_failure>},
};

constexpr mutant step(const char* name) {
    return {name, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit};
}
constexpr mutant mutants[] = {
    {"answer publishes relaxed", operation::compare_exchange, order::acq_rel, words::numbers, "::answer(",
     mistake::relax},
    {"take in two steps", operation::compare_exchange, order::acquire, words::numbers, "::take(",
     mistake::tear},
    {"reclaim in two steps", operation::compare_exchange, order::relaxed, words::numbers, "::reclaim(",
     mistake::tear},
    {"finish relaxed", operation::exchange, order::acq_rel, words::numbers, "::finish(", mistake::relax},
    {"finish in two steps", operation::exchange, order::acq_rel, words::numbers, "::finish(", mistake::tear},
    {"wait in two steps", operation::compare_exchange, order::acq_rel, words::numbers, "::wait(",
     mistake::tear},
    {"poll relaxed", operation::load, order::acquire, words::numbers, "::poll(", mistake::relax},
    step(looks_first),
    step(waits_not),
    step(leaks),
    step(keeps_split),
    step(early),
    step(late),
};

} // namespace
} // namespace weft::model

namespace weft::impl {
outcome slow_pop(frame* parent, frame* f) noexcept { return model::owner->slow_pop(parent, f); }
void count_suppressed() noexcept {}
} // namespace weft::impl

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
