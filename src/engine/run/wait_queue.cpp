#include <weft/impl/wait_queue.hpp>

#include "engine/ports/host.hpp"
#include "engine/ports/meter.hpp"
#include "engine/ports/timers.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/run/thread_waiter.hpp"
#include "engine/run/wait_list.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"
#include "queue/spin_lock.hpp"
#include "task/sanitizers.hpp"

#include <weft/this_task.hpp>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

/// Waits for events other than the end of a task: the base of the synchronisation in the public headers.
namespace weft::impl {

using engine::completion;
using engine::wait_list;

namespace {

static_assert(sizeof(queue::spin_lock<>) == sizeof(std::uint32_t) &&
              sizeof(completion<>) == sizeof(std::uintptr_t));

queue::spin_lock<>& as_lock(std::uint32_t& storage) noexcept {
    return *std::launder(reinterpret_cast<queue::spin_lock<>*>(&storage));
}

} // namespace

// The holder keeps the tick away until unlock(): the runtime takes the lock, too.
void wait_queue::acquire_lock() noexcept {
    hot_hold();
    as_lock(lock_).lock();
}
std::uintptr_t wait_queue::acquire_lock_as_caller() noexcept {
    acquire_lock();
    const worker* const w = hot_self();
    return w ? reinterpret_cast<std::uintptr_t>(w->current->running)
             : reinterpret_cast<std::uintptr_t>(&weft_hot) | 1;
}

void wait_queue::push(waiter& w) noexcept {
    const worker* here = hot_self();
    w.home_ = here ? &here->engine : nullptr;
    w.in_ = this;
    wait_list::push(*this, w);
}
waiter* wait_queue::pop() noexcept { return wait_list::pop(*this); }
waiter* wait_queue::pop_all() noexcept { return wait_list::pop_all(*this); }
bool wait_queue::remove(waiter& w) noexcept { return wait_list::remove(*this, w); }

void wake(waiter* list) noexcept {
    if (!list) return;
    worker* const w = hot_self() ? &engine::enter_runtime() : nullptr;
    wait_list::for_each(list, sanitizer::happens_before);
    wait_list::notify(list, [w](std::uintptr_t word, void* home_of_task) {
        auto* const home = static_cast<engine::engine*>(home_of_task);
        if (word & 1) {
            engine::thread_waiter_of(word).wake();
        } else if (task& t = *reinterpret_cast<task*>(word); w && &w->engine == home) {
            engine::offer(*w, t, ready_reason::unblocked);
        } else {
            home->host.submit(t, ready_reason::unblocked);
        }
    });
    if (w) engine::leave_runtime();
}

constinit std::atomic<int> lock_watchers{0};

void tell_of_lock(const void* lock, lock_event what) noexcept {
    const worker* const caller = hot_self();
    if (!caller || !caller->engine.need.locks) return;
    worker& w = engine::enter_runtime();
    w.host.lock_changes(w, lock, what);
    engine::leave_runtime();
}

void report_relock() noexcept {
    const worker* const w = hot_self();
    if (w && w->modelled) return;
    std::fflush(stdout);
    std::fprintf(
        stderr,
        "weft: deadlock: %s locks a mutex that it holds already; given: a second lock() without an unlock(); "
        "allowed: one lock() at a time, since a weft::mutex is not recursive\n",
        w ? engine::described(engine::running_task()).c_str() : "a thread that is no worker");
    std::_Exit(EXIT_FAILURE); // the stacks of the tasks cannot be unwound
}

void waiter::sleep() noexcept {
    completion<>& told = engine::completion_of_waiter(told_);
    if (!hot_self()) {
        engine::thread_waiter self;
        if (told.wait(self.word())) self.wait();
        return sanitizer::happens_after(this);
    }
    worker& w = engine::enter_runtime();
    if (told.poll() == completion<>::running) {
        task& me = *w.current->running;
        if (w.slow) [[unlikely]]
            w.meter.waits_for(w, for_what_, in_);
        if (me.silent_) engine::expose_all(w);
        engine::suspend(
            w, ready_reason::unblocked,
            [](worker& at, void* c, void* t) {
                if (!static_cast<completion<>*>(c)->wait(reinterpret_cast<std::uintptr_t>(t)))
                    at.resume_first = static_cast<task*>(t);
            },
            &told, &me);
    }
    engine::leave_runtime();
    sanitizer::happens_after(this);
}

namespace {

struct sleep_timer : engine::timer {
    wait_queue& in;
    waiter& sleeper;
    bool expired = false;

    sleep_timer(wait_queue& q, waiter& w) noexcept : in(q), sleeper(w) {
        fire = [](engine::timer& t) noexcept {
            auto& self = static_cast<sleep_timer&>(t);
            wait_list::expire(self.in, self.sleeper, self.expired, [](waiter* told) { wake(told); });
        };
    }
};

} // namespace

bool waiter::sleep_for(wait_queue& in, std::chrono::nanoseconds d) {
    worker* const w = hot_self();
    if (!w) {
        engine::thread_waiter self;
        const bool is_told = !engine::completion_of_waiter(told_).wait(self.word()) || self.wait_for(d);
        if (!is_told && in.remove(*this)) return false;
        if (!is_told) self.wait(); // another thread has removed it and is about to wake it
        sanitizer::happens_after(this);
        return true;
    }
    engine::engine& e = w->engine;
    sleep_timer timer(in, *this);
    timer.at = e.host.now() + d.count();
    try {
        const tick_hold here; // of the lock of the timers
        e.timers.set_timer(timer);
    } catch (...) {
        if (in.remove(*this)) throw;
        sleep(); // another thread has removed it and wakes it, so no timer is needed
        return true;
    }
    sleep();
    const tick_hold here;
    e.timers.cancel_timer(timer);
    return !timer.expired;
}

} // namespace weft::impl

namespace weft::this_task {

int worker() noexcept {
    const impl::worker* w = impl::hot_self();
    return w ? w->id : -1;
}

void yield() noexcept {
    if (!impl::hot_self()) return std::this_thread::yield();
    impl::worker& w = engine::enter_runtime();
    task& me = *w.current->running;
    if (me.silent_) engine::expose_all(w);
    engine::suspend(
        w, ready_reason::yielded,
        [](impl::worker& at, void* t, void*) {
            engine::offer(at, *static_cast<task*>(t), ready_reason::yielded);
        },
        &me, nullptr);
    engine::leave_runtime();
}

bool is_cancelled() noexcept { return impl::is_cancelled(impl::group_of_task()); }

} // namespace weft::this_task
