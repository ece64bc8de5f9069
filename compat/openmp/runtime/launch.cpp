#include "runtime/launch.hpp"

#include "runtime/settings.hpp"
#include "runtime/team.hpp"
#include "runtime/wait.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/observation.hpp"
#include "engine/run/default_engine.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"
#include "policy/seam/policy.hpp"

#include <weft/runtime.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

/// The door to Weft: launches as task records of the default runtime. A launch is queued, never called by the code that
/// makes it: the threads of a team may wait for each other.
namespace weft::openmp {

namespace {

using engine::worker;

void run_launch(void* of) { static_cast<launch*>(of)->run(*static_cast<launch*>(of)); }
/// After set_context_of_task(): the closure is the context.
void never_called(void*) {}

engine::engine& home() { return engine::default_engine(); }

task& make_record(worker* w, engine::engine& e, launch& l) {
    task& t = engine::make_task(w, e, 0, 1);
    t.call_ = run_launch;
    t.closure_ = &l;
    return t;
}

/// What policies learn of a launch. All of them are of one class, the same in each run; for a trace, the code is the class.
hints hints_of(int priority) noexcept { return {.key = 0x6f6d70, .priority = priority}; }

/// What the compiler has made of the construct.
trace::code_address code_of(const launch& l) noexcept {
    return l.of->is_implicit ? l.of->in->outlined : l.of->outlined;
}

/// A record below the task of the caller, for the queue of the caller's worker.
void queue_below(worker& w, launch& l, const hints& h) {
    task& me = *w.current->running;
    task& t = make_record(&w, w.engine, l);
    engine::adopt(t, &me, nullptr, h);
    t.parent_ = nullptr; // which it may outlive
    t.prolongs_run_ = w.engine.observation.run_continues();
    t.silent_ = t.queued_ = true;
    w.count.queued.add();
    engine::note_spawn(w, t, trace::origin::child, nullptr, code_of(l));
    engine::offer(w, t, ready_reason::spawned);
}

} // namespace

int worker_count() { return home().worker_count(); }

void start_anywhere(launch& l, int priority) {
    const hints h = hints_of(priority);
    engine::engine& e = home();
    if (worker* here = weft::impl::hot_self(); here && &here->engine == &e) {
        worker& w = engine::enter_runtime();
        if (task& me = *w.current->running; me.silent_) {
            queue_below(w, l, h);
        } else { // the policy would decide whether it is called: it is a root instead, as a thread of Weft is
            task& t = make_record(&w, e, l);
            engine::adopt(t, nullptr, nullptr, h);
            t.preempt_ = me.preempt_;
            engine::submit_root(e, t, code_of(l));
        }
        return engine::leave_runtime();
    }
    const weft::impl::tick_hold here;
    task& t = make_record(nullptr, e, l);
    engine::adopt(t, nullptr, nullptr, h);
    engine::submit_root(e, t, code_of(l));
}

void start_at(launch& l, unsigned number) {
    engine::engine& e = home();
    const weft::impl::tick_hold here;
    task& t = make_record(nullptr, e, l);
    engine::adopt(t, nullptr, nullptr, hints_of(0));
    engine::number_root(e, t, code_of(l));
    l.way.of = &t;
    l.way.home = &e.worker_at(static_cast<int>(number % static_cast<unsigned>(e.worker_count())));
    engine::send_home(l.way);
}

void yield_to_others() noexcept {
    worker* const here = weft::impl::hot_self();
    if (!here) return queue::std_sync::yield();
    /// Comes to its turn behind the tasks that are ready, and wakes the one that yields.
    struct turn : launch {
        std::atomic<bool> has_come{false};
    } mine;
    mine.run = [](launch& l) noexcept {
        auto& of = static_cast<turn&>(l);
        const void* const address = &of.has_come;
        of.has_come.store(true, std::memory_order_release); // pairs with the load below; `of` may be gone
        wake_all(address);
    };
    worker& w = engine::enter_runtime();
    task& t = make_record(&w, w.engine, mine);
    engine::adopt(t, nullptr, nullptr, {.name = "omp yield"});
    t.silent_ = w.engine.zone().lazy;
    engine::offer(w, t, ready_reason::yielded);
    engine::leave_runtime();
    wait_until(
        &mine.has_come, [&] { return mine.has_come.load(std::memory_order_acquire); }, // pairs with the store
        patience::none);
}

context* context_of_task(const task& t) noexcept {
    return t.call_ == never_called ? static_cast<context*>(t.closure_) : nullptr;
}

void set_context_of_task(context& c) noexcept {
    const weft::impl::tick_hold here;
    task& t = *weft::impl::hot_self()->current->running;
    t.closure_ = &c;
    t.call_ = never_called;
}

void check_runtime() {
    if (worker_count() > 0 && home().worker_at(0).modelled) {
        std::fputs("weft: OpenMP programs do not run on the engine 'model'; given: WEFT_ENGINE=model; "
                   "allowed: threads\n",
                   stderr);
        std::_Exit(2);
    }
}

} // namespace weft::openmp
