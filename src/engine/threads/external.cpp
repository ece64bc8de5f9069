#include "engine/idle/worker_search.hpp"
#include "engine/process/fault_report.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/thread_waiter.hpp"
#include "engine/threads/exposure_handler.hpp"
#include "engine/threads/reached.hpp"
#include "engine/threads/run_account.hpp"
#include "engine/threads/thread_engine.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cxxabi.h>
#include <pthread.h>
#include <sched.h>

/// External threads as workers: README.md, "External threads".
namespace weft::engine {

namespace {

/// Once a thread: its own mask stays as the program has set it, but for this signal.
void allow_exposure_signal_once() noexcept {
    static thread_local constinit bool allowed = false;
    if (!std::exchange(allowed, true)) allow_exposure_signal();
}

void wake_worker(void* w) noexcept {
    if (impl::hot_self() == w) return;                 // it wakes itself
    queue::std_sync::fence(std::memory_order_seq_cst); // pairs with arm() and the look that follows it
    static_cast<thread_worker*>(w)->parker.wake();
}

/// The thread's own stack while the thread runs on fibers: what is referred to from there only is no leak if the
/// process ends meanwhile.
class root_of_leak_check {
public:
    root_of_leak_check() noexcept {
        if (!__lsan_register_root_region) return;
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
        void* bottom = nullptr;
        std::size_t bytes = 0;
        pthread_attr_getstack(&attributes, &bottom, &bytes);
        pthread_attr_destroy(&attributes);
        bytes_ = static_cast<std::size_t>(static_cast<char*>(bottom) + bytes - static_cast<char*>(begin_));
        __lsan_register_root_region(begin_, bytes_);
    }
    ~root_of_leak_check() {
        if (bytes_ > 0) __lsan_unregister_root_region(begin_, bytes_);
    }
    root_of_leak_check(const root_of_leak_check&) = delete;
    root_of_leak_check& operator=(const root_of_leak_check&) = delete;

private:
    void* const begin_ = __builtin_frame_address(0);
    std::size_t bytes_ = 0;
};

/// Makes the calling thread the occupant of a worker whose place it has taken, and the own thread again at the end.
class occupation {
public:
    explicit occupation(thread_worker& w) noexcept
        : of_(w)
        , hot_(w.hot)
        , exceptions_(w.exceptions)
        , current_(w.current)
        , oldest_(w.oldest)
        , handlers_run_on_(w.external_signals) {
        sanitizer::begin_thread(own_stack_.sanitized);
        w.hot = &impl::weft_hot;
        w.hot->limit.store(0, std::memory_order_relaxed);
        w.hot->in_runtime.store(true, std::memory_order_relaxed);
        impl::handler_fence();
        w.hot->self = &w;
        w.exceptions = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
        w.native = w.current = &own_stack_;
        w.kernel = nullptr;
        occupancy_of::change(w, here_);
    }
    ~occupation() {
        of_.hot->self = nullptr;
        impl::handler_fence(); // a signal that comes from here on is none of this engine's
        of_.hot = hot_;
        of_.exceptions = exceptions_;
        of_.current = current_;
        of_.oldest = oldest_;
        of_.native = &of_.own.own_stack;
        of_.kernel = &of_.own;
        occupancy_of::change(of_, of_.own);
        occupancy_of::wait_until_unreached(std::array{&of_});
    }
    occupation(const occupation&) = delete;
    occupation& operator=(const occupation&) = delete;

private:
    thread_worker& of_;
    impl::hot_words* const hot_;
    exception_globals* const exceptions_;
    fiber* const current_;
    fiber* const oldest_;
    const signal_stack handlers_run_on_;
    const root_of_leak_check own_stack_is_root_{};
    fiber own_stack_{};
    const reach here_{&impl::weft_hot, pthread_self()};
};

} // namespace

thread_worker* thread_engine::take_place() noexcept {
    if (!lends_places.load(std::memory_order_relaxed)) return nullptr;
    // The worker that is pinned to the core of this thread, if it sleeps: then the thread need not move.
    const int cpu = sched_getcpu();
    const auto count = rank(worker_count());
    const auto near = cpu >= 0 && static_cast<std::size_t>(cpu) < worker_of_cpu.size()
                          ? rank(worker_of_cpu[static_cast<std::size_t>(cpu)])
                          : 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t id = near + i < count ? near + i : near + i - count;
        if (parked.contains(id) && all_workers[id]->parker.take_place()) return all_workers[id].get();
    }
    return nullptr;
}

bool thread_engine::work_as(thread_worker& w, thread_waiter& until, task* root) {
    allow_exposure_signal_once();
    worker_search search(*this);
    bool worked = true, sleeps = false;
    task *first = nullptr, *left = nullptr;
    if (account) account->visitor_comes(w);
    {
        const occupation here(w);
        // The end of the search in which the own thread sleeps.
        first = search.end_parking(w, nullptr, true);
        search.search_ends(w);
        search.sleep(w)->stop_searching(w.local);
        search.starts_working(w);

        fiber* on = nullptr;
        // A team that forms may have woken this worker, which was in `parked`, and count on it: then the own thread
        // follows the call. The fence pairs with that in wake_cells().
        queue::std_sync::fence(std::memory_order_seq_cst);
        worked = !outermost.has_calls();
        if (worked) try {
                on = &take_fiber(w);
            } catch (const error&) { worked = false; }
        if (worked && until.begin_work(wake_worker, &w)) {
            w.until = &until;
            if (root) {
                if (first) offer(w, *first, ready_reason::exposed);
                first = search.receive(w, *root, ready_reason::root);
            }
            w.resume_first = std::exchange(first, nullptr);
            on->become_scheduler();
            switch_to(w, *on, {}); // until is_stopping(w)
            until.end_work();
            w.until = nullptr;
        } else if (on) {
            free_fiber(w, *on);
        }

        // The beginning of the search with which the own thread goes on.
        search.stops_working(w);
        left = first;
        if (!left && !(sleeps = search.begin_parking(w, left))) left = search.end_parking(w, left, false);
        if (!sleeps) { // the own thread ends what begins here
            w.count.asleep.begin(now());
            note(w, trace::kind::sleep);
        }
    }
    if (account) account->visitor_leaves(w);
    // A worker with idle stacks sleeps for a limited time.
    const bool must_wake = w.sleeps_for_ever && has_idle_stacks(w);
    if (sleeps && !must_wake && w.parker.leave_asleep()) return worked;
    w.left = left;
    w.parker.leave_awake();
    return worked;
}

void thread_engine::wait_outside(thread_waiter& until, task* root) {
    thread_worker* w = take_place();
    if (w && work_as(*w, until, root)) return until.wait();
    if (root) submit(*root, ready_reason::root);
    if (!lends_places.load(std::memory_order_relaxed) || w) return until.wait();

    // All workers are busy, or look for work: one of them may make room.
    using clock = std::chrono::steady_clock;
    const auto at_most = std::min<std::chrono::nanoseconds>(options.spin_time, std::chrono::milliseconds(1));
    looking_for_place.fetch_add(1, std::memory_order_relaxed);
    for (const auto since = clock::now(); !until.is_woken() && clock::now() - since < at_most;) {
        if ((w = take_place())) break;
        queue::std_sync::yield();
    }
    looking_for_place.fetch_sub(1, std::memory_order_relaxed);
    if (w) work_as(*w, until, nullptr);
    until.wait(); // it may be woken already, but the waker must be finished with `until`
}

} // namespace weft::engine
