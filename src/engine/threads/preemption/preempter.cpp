#include "engine/threads/preemption/preempter.hpp"

#include "engine/idle/collect.hpp"
#include "engine/process/signal_claim.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/threads/exposure_handler.hpp"
#include "engine/threads/preemption/tick_handler.hpp"
#include "engine/threads/reached.hpp"
#include "engine/threads/thread_engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "queue/chain.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <mutex>

#include <cxxabi.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

namespace {

bool runs_on_its_stack(const fiber& f) noexcept {
    const std::byte here{};
    return f.memory.base && f.memory.limit() <= &here && &here < f.memory.top();
}

void offer_preempted(worker& at, void* t, void*) {
    offer(at, *static_cast<task*>(t), ready_reason::preempted);
}

void begin_counting(thread_worker& w) noexcept { w.ticks_near_malloc = w.ticks_in_c_library = 0; }

/// Before `t` is woken to run `w`. If it pinned itself, it would first have to run on the core on which it has stopped, and wait
/// there for the thread of another worker, while the core of `w` has nothing to do.
void pin_for(thread_engine& e, thread_worker& w, kernel_thread& t) noexcept {
    if (e.options.pin && !e.is_guest(w))
        e.pinned.comes(w, t, [&e](const kernel_thread& each, int core) { return e.pin(each, core); });
}

} // namespace

void offer_stopped(worker& at, void* t, void*) {
    offer_preempted(at, t, nullptr);
    auto& w = static_cast<thread_worker&>(at);
    static_cast<thread_engine&>(w.engine).preemption.look_for_stopped(w);
}

preempter::preempter(thread_engine& of, const preemption_options& o) noexcept
    : of_(of)
    , how_(o)
    , ticks_(of, o)
    , spares_(of, o.park) {}

preempter::~preempter() {
    if (has_handler_) give_back_tick_handler();
}

void preempter::begin() {
    const std::lock_guard guard(beginning_);
    if (has_begun()) return;
    if (of_.meter.misses_from == count_source::counters)
        throw error("tasks cannot be preempted while the policy reads the counters of its workers' threads",
                    "preemption under the policy " + of_.options.record.policy_spec,
                    "another policy, or WEFT_PREEMPT=off and no task with a type of its own");
    if (of_.lends)
        throw error("tasks cannot be preempted while cores are lent: they would change from threads of "
                    "normal priority to those on "
                    "borrowed cores",
                    "preemption with WEFT_LEND",
                    "WEFT_LEND=off, or WEFT_PREEMPT=off and no task with a type of its own");
    malloc_ = &malloc_code::of_this_process();
    of_.blocks.pages.use();
    of_.alarms.start(); // a task that set the first timer would wait for malloc in the runtime (Y5)
    // Only the engine's own threads have timers, so no other thread runs a task that is to be preempted.
    of_.lends_places.store(false, std::memory_order_relaxed);
    take_tick_handler();
    has_handler_ = true;
    ticks_.begin();
    for (auto& w : of_.all_workers)
        if (!w->own.has_timer && !ticks::make_timer(w->own))
            throw error(fmt::format("cannot make a timer for preemption ({})", std::strerror(errno)),
                        "preemption", "WEFT_PREEMPT=off, or a larger limit of pending signals (ulimit -i)");
    spares_.begin();
    begun_.store(true, std::memory_order_release); // pairs with has_begun()
}

// ---- in the runtime

void preempter::runs(thread_worker& w, const task& t) noexcept {
    const bool may = t.preempt_ != preemption::off;
    ticks_.runs(w, may, !t.stopped_with_);
    begin_counting(w); // what the task before has used up is not this one's
    // The handler needs one.
    if (may && !w.free_fibers)
        if (fiber* const f = of_.fibers.take_quietly()) free_fiber(w, *f);
}

void preempter::look_for_stopped(thread_worker& w) noexcept {
    if (spares_.count() > 0) return;
    policy& from = *w.arena().scheduler;
    queue::chain<task> others;
    decision found;
    while ((found = from.next(w.local, true)).t) {
        of_.found_in_last_look(w, found);
        if (found.moved > 0) w.host.announce(w, {.at = w.local, .who = w.arena().active()});
        if (found.t->stopped_with_) break;
        others.push_back(found.t);
    }
    while (task* const t = others.pop_front()) offer(w, *t, ready_reason::granted);
    w.resume_first = found.t;
}

void preempter::pauses(thread_worker& w) noexcept {
    if (has_begun()) ticks_.pauses(w);
}

// ---- the thread of a worker changes (Y2)

void preempter::occupy(thread_worker& w, kernel_thread& self, bool with_task) noexcept {
    self.hot->limit.store(0, std::memory_order_relaxed);
    w.hot = self.hot;
    w.exceptions = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
    w.native = &self.own_stack;
    w.kernel = &self;
    impl::handler_fence();
    self.hot->self = &w;
    occupancy_of::change(w, self);
    of_.occupies(w, self);
    if (of_.pace) of_.pace->thread_comes(w);
    if (has_begun()) ticks_.comes(w, self, with_task);
}

void preempter::hand_over(thread_worker& w, kernel_thread& from, kernel_thread& to,
                          task* preempted) noexcept {
    ticks_.leaves(w, from);
    if (of_.pace) of_.pace->charge(w); // by the clock of this thread (V2 of engine/threads/speeds/README.md)
    from.hot->self = nullptr;
    impl::handler_fence(); // a signal that comes from here on finds no worker
    pin_for(of_, w, to);
    to.worker = &w;
    to.preempted = preempted;
    spares_.wake(to); // from here on `w` and the task are others'
}

bool preempter::change_threads(thread_worker& w, kernel_thread& self, task& preempted) noexcept {
    kernel_thread& to = *preempted.stopped_with_;
    preempted.stopped_with_ = nullptr;
    ticks_.leaves(w, self);
    if (of_.pace) of_.pace->charge(w);
    self.hot->self = nullptr;
    impl::handler_fence();
    pin_for(of_, w, to);
    // Before the task goes on, which may need a spare thread at its next tick. From here on another worker may take this one.
    const bool stays = spares_.put(self, w);
    to.worker = &w;
    to.preempted = nullptr;
    spares_.wake(to);
    if (!stays) {
        occupancy_of::wait_to_end(of_.all_workers, self); // the next thread of `w` may not have come yet
        return false;
    }
    spares_.stop(self);
    if (!self.worker) return false;
    occupy(*self.worker, self);
    return true;
}

void preempter::serve_as_spare(kernel_thread& self, thread_worker& w, const sigset_t& mask) noexcept {
    self.hot = &impl::weft_hot;
    self.thread = pthread_self();
    self.id = static_cast<pid_t>(syscall(SYS_gettid));
    self.hot->in_runtime.store(true, std::memory_order_relaxed);
    if (ticks::make_timer(self) && spares_.put(self, w)) {
        pthread_sigmask(SIG_SETMASK, &mask, nullptr);
        spares_.stop(self);
        if (self.worker) {
            occupy(*self.worker, self);
            of_.serve(self);
        }
        // A thread may still use what it has read from `occupant` (P1).
        occupancy_of::wait_until_unreached(of_.all_workers);
    }
    ticks::delete_timer(self);
}

// ---- in the handler

/// In the handler, which holds the tick away. Whether the task is in a state in which it can be left.
bool preempter::may_preempt(thread_worker& w) noexcept {
    constexpr std::uint8_t of_this_handler = 1;
    if (impl::weft_hot.in_runtime.load(std::memory_order_relaxed) ||
        impl::weft_hot.holds.load(std::memory_order_relaxed) != of_this_handler)
        return false;
    if (!w.kernel || w.has_reserve_fiber) return false;
    const fiber& f = *w.current;
    if (f.guards > 0 || !runs_on_its_stack(f)) return false;
    const task& t = *f.running;
    if (t.preempt_ == preemption::off) {
        ticks_.finds_none(w);
        return false;
    }
    return !t.claims_ && !t.share_; // what it was granted at the gate is for it alone
}

/// Whether the task is in malloc (Y5), or yields and is in the C library (Y10). Where that is not sure it is left there for some
/// ticks only; those that one reason has taken do not shorten what the other one takes.
bool preempter::is_in_library(thread_worker& w, const task& t, const ucontext_t& interrupted) const noexcept {
    const auto waits = [](int& ticks, int patience) {
        ticks = patience > 0 ? ticks + 1 : 0;
        return ticks < patience;
    };
    const bool is_inside = malloc_->contains(interrupted);
    const bool is_near = waits(w.ticks_near_malloc, malloc_->patience(interrupted, w.current->memory.top()));
    const bool may_yield = t.preempt_ == preemption::yield;
    const bool is_in_c = waits(w.ticks_in_c_library, may_yield ? malloc_->patience_of_yield(interrupted) : 0);
    if (is_inside || is_near || is_in_c) return true;
    begin_counting(w);
    return false;
}

void preempter::on_tick(thread_worker& w, const siginfo_t& info, ucontext_t& interrupted,
                        bool in_handler) noexcept {
    if (!has_begun())
        return; // a tick that was for a thread which has ended, or that another program has sent
    ticks_.arrives(w, info.si_code == SI_TIMER);
    if (!may_preempt(w)) return;
    if (in_handler) return;
    task& t = *w.current->running;
    if (is_in_library(w, t, interrupted)) return;
    if (!makes_room(w, t)) return;
    if (!w.free_fibers) {
        fiber* const f = of_.fibers.take_quietly();
        if (!f) return;
        free_fiber(w, *f);
    }
    kernel_thread* const spare = t.preempt_ == preemption::klt ? spare_for(w) : nullptr;
    if (t.preempt_ == preemption::klt && !spare) return;
    // ThreadSanitizer calls handlers where the task calls it, with all signals blocked: the next task is to be preempted, too.
    if (!spare && sanitizer::has_tsan()) pthread_sigmask(SIG_SETMASK, &interrupted.uc_sigmask, nullptr);
    // The end of the handler gives the thread the alternate stack that is named there. After a yield that must be the stack of
    // the thread on which the task goes on, and not that of the one which it has left (Y7).
    if (preempt(w, t, spare) && !spare) sigaltstack(nullptr, &interrupted.uc_stack);
}

/// A spare thread for a worker whose task is to be stopped, or null. The last one is taken only if none is made in time (Y9).
kernel_thread* preempter::spare_for(thread_worker& w) noexcept {
    constexpr int patience = 4; // ticks
    if (spares_.count() < 2) {
        spares_.request(w);
        const bool is_active = w.local < w.arena().active_count.load(std::memory_order_relaxed);
        if (++w.ticks_in_want < patience || !is_active) return nullptr;
    }
    w.ticks_in_want = 0;
    return spares_.take(w);
}

/// False if there is no memory for it.
bool preempter::preempt(thread_worker& w, task& t, kernel_thread* spare) noexcept {
    static_cast<void>(enter_runtime());
    impl::hot_unhold(); // no hold is kept over a switch
    bool hides_nothing = true;
    if (t.silent_) try {
            expose_all(w);
        } catch (const std::bad_alloc&) { hides_nothing = false; }
    if (!hides_nothing) {
        if (spare) spares_.put_back(*spare, w);
    } else if (spare) {
        stops_.fetch_add(1, std::memory_order_relaxed);
        stop_with(w, t, *spare);
    } else {
        yields_.fetch_add(1, std::memory_order_relaxed);
        suspend(w, ready_reason::preempted, offer_preempted, &t, nullptr);
    }
    impl::
        hot_hold(); // the handler's, on the thread that it is on now; from the way out on a tick may come again
    leave_runtime();
    return hides_nothing;
}

void preempter::stop_with(thread_worker& w, task& t, kernel_thread& spare) noexcept {
    kernel_thread& self = *w.kernel;
    fiber& on = *w.current;
    begin_suspension(w, on, ready_reason::preempted);
    t.stopped_with_ = &self;
    stopped_.fetch_add(1, std::memory_order_relaxed);
    hand_over(w, self, spare, &t);
    spares_.stop(self); // until change_threads() of another thread
    thread_worker& here = *self.worker;
    stopped_.fetch_sub(1, std::memory_order_relaxed);
    occupy(here, self, true);
    here.current = &on; // resume() has set the rest of the chain
    end_suspension(t);
}

} // namespace weft::engine
