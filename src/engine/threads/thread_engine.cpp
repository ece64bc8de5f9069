#include "engine/threads/thread_engine.hpp"

#include "engine/process/fault_report.hpp"
#include "engine/run/switch.hpp"
#include "engine/threads/report.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <latch>
#include <utility>

#include <cxxabi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

namespace {

void give_back_fibers(thread_worker& w) noexcept {
    while (fiber* f = w.free_fibers) {
        w.free_fibers = f->free_next;
        --w.free_fiber_count;
        w.eng.fibers.give(f);
    }
}

} // namespace

thread_engine::thread_engine(std::unique_ptr<policy> p, machine m, const thread_engine_options& o,
                             resource_table resources, policy_factory another)
    : engine(std::move(p), std::move(m), o.workers, o.stack_bytes, o.keep_fibers, std::move(resources),
             std::move(another))
    , options(o)
    , crowded(o.workers > o.cores)
    , all_ready(o.workers + 1)
    , all_ended(o.workers) {
    const auto count = static_cast<std::size_t>(o.workers);
    for (std::size_t i = 0; i < count; ++i) {
        std::seed_seq seed{o.seed, static_cast<std::uint64_t>(i)};
        std::uint32_t own = 0;
        seed.generate(&own, &own + 1);
        all_workers.push_back(
            std::make_unique<thread_worker>(static_cast<worker_id>(i), *this, count, own | 1));
        all_workers.back()->core = static_cast<int>(i) % on.size();
        all_workers.back()->arena_now.store(&outermost,
                                            std::memory_order_relaxed); // its thread is still to come
        outermost.add_member(*all_workers.back(), on);
    }
    need = scheduler->attach(on, *this);
    check_needs(need, "threads");
    if (need.own_misses) {
        const auto [misses, instructions] = miss_counter::can_be_had();
        misses_from = misses ? count_source::counters : count_source::declared;
        instructions_from = instructions ? count_source::counters : count_source::unknown;
    }
    if (misses_from == count_source::declared) listens.emplace();
    record(options.record);
    for (auto& w : all_workers) {
        w->meters = need.own_usage;
        w->counts_misses = need.own_misses;
        if (need.task_bytes > 0)
            w->given = std::make_unique_for_overwrite<std::byte[]>(count * need.task_bytes);
        w->observed = w->meters || misses_from == count_source::counters;
        trace_worker(*w);
    }

    // What each begins on; here a failure can still be reported.
    try {
        for (auto& w : all_workers) {
            w->free_fibers = fibers.take();
            w->free_fiber_count = 1;
        }
    } catch (const error&) {
        for (auto& w : all_workers) give_back_fibers(*w);
        throw;
    }

    // Every worker's words must be there before another one may ask it.
    struct argument {
        thread_engine* of;
        thread_worker* worker;
    };
    std::vector<argument> arguments;
    arguments.reserve(count);
    std::size_t started = 0;
    int failure = 0;
    for (auto& w : all_workers) {
        arguments.push_back({this, w.get()});
        failure = pthread_create(
            &w->thread, nullptr,
            [](void* a) -> void* {
                auto [of, worker] = *static_cast<argument*>(a);
                worker->hot = &impl::weft_hot;
                worker->hot->in_runtime.store(true, std::memory_order_relaxed);
                worker->hot->self = worker;
                // Before the constructor ends: a mask that somebody sets from then on stays.
                if (of->options.pin) of->pin(*worker);
                of->all_ready.arrive_and_wait();
                if (!of->incomplete) of->run_thread(*worker);
                worker->hot->self = nullptr;
                const bool at_once = of->abandon;
                // release: pairs with the load in end_threads_at_exit()
                of->ended.fetch_add(1, std::memory_order_release);
                // The destructors of the program's thread-local objects are not run: what they use is gone.
                if (at_once) syscall(SYS_exit, 0);
                return nullptr;
            },
            &arguments.back());
        if (failure) break;
        ++started;
    }
    if (failure) {
        incomplete = true;
        all_ready.count_down(static_cast<std::ptrdiff_t>(count - started));
        all_ready.arrive_and_wait();
        for (std::size_t i = 0; i < started; ++i) pthread_join(all_workers[i]->thread, nullptr);
        for (auto& w : all_workers) give_back_fibers(*w);
        throw error(fmt::format("cannot create the thread of a worker ({})", std::strerror(failure)),
                    fmt::format("{} workers, {} created", o.workers, started),
                    "fewer workers (WEFT_WORKERS), or a larger limit of threads or memory for this process");
    }
    all_ready.arrive_and_wait();
    if (options.follow && need.resizable && worker_count() > 1) follows.emplace(*this);
    if (progress) progress->begin();
}

thread_engine::~thread_engine() {
    finishes_files.leave();
    follows.reset();
    stop();
    for (auto& w : all_workers) pthread_join(w->thread, nullptr);
    for (auto& w : all_workers) discard_messages(*w);
    finish_files();
    while (submitting.load(std::memory_order_acquire) > 0)
        queue::std_sync::yield(); // pairs with the end of submit()
}

void thread_engine::stop() noexcept {
    stopping.store(true, std::memory_order_seq_cst);   // before the sleepers are woken, as in announce()
    queue::std_sync::fence(std::memory_order_seq_cst); // pairs with arm(), as in set_active()
    for (auto& w : all_workers) w->parker.wake();
}

void thread_engine::end_threads_at_exit() noexcept {
    if (const worker* self = impl::hot_self(); self && &self->eng == this) return;
    follows.reset();
    abandon = true;
    stop();
    alarms.stop();
    constexpr std::chrono::milliseconds patience_at_exit{100};
    const auto until = std::chrono::steady_clock::now() + patience_at_exit;
    while (ended.load(std::memory_order_acquire) < worker_count()) { // pairs with the end of the threads
        if (std::chrono::steady_clock::now() > until) return;
        queue::std_sync::yield();
    }
    for (const auto& w : all_workers) pthread_join(w->thread, nullptr);
    finish_files();
}

void thread_engine::root_begins() {
    if (!reports) return;
    const std::lock_guard guard(counting_roots);
    if (open_roots++ == 0) at_begin.take(*this, now());
}

void thread_engine::root_ended(worker&) noexcept {
    if (!reports) return;
    const std::lock_guard guard(counting_roots);
    if (--open_roots > 0) return;
    tally at_end;
    at_end.take(*this, now());
    reports->add(describe_run(at_end.since(at_begin), reports->wants_json()));
}

std::string thread_engine::describe_run(const tally& run, bool as_json) const {
    if (run.workers.empty()) return ""; // there was none
    const thread_report r{
        on.name(), recorded.policy_spec, recorded.seed, name_of(misses_from), name_of(instructions_from),
        run};
    return as_json ? r.to_json() : r.to_table();
}

void thread_engine::run_thread(thread_worker& w) {
    const signal_stack handlers_run_on;
    allow_exposure_signal();
    w.exceptions = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
    w.current = &w.native;
    if (misses_from == count_source::counters) w.counter.emplace();
#ifdef WEFT_TSAN
    w.native.tsan_fiber = __tsan_get_current_fiber();
#endif
    fiber& first = take_fiber(w); // its own
    first.reset_chain();
    switch_to(w, first, {});
    // Back here, the worker stops.
    give_back_fibers(w);
    all_ended.arrive_and_wait();
}

void thread_engine::user_code_ends(worker& of) noexcept {
    auto& w = static_cast<thread_worker&>(of);
    engine::user_code_ends(w);
    if (w.counter) w.current->running->counts_ += w.counter->read() - w.counted_before;
}

void thread_engine::user_code_begins(worker& of) noexcept {
    auto& w = static_cast<thread_worker&>(of);
    if (w.counter) w.counted_before = w.counter->read();
    engine::user_code_begins(w);
}

void thread_engine::declare_data(worker& w, const void* data, std::size_t bytes, access) noexcept {
    if (misses_from != count_source::declared || bytes == 0) return;
    const auto first = reinterpret_cast<std::uintptr_t>(data) / line_bytes;
    const auto last = (reinterpret_cast<std::uintptr_t>(data) + bytes - 1) / line_bytes;
    w.current->running->counts_.misses += last - first + 1;
}

void thread_engine::pin(const thread_worker& w) const noexcept {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(on.core_at(w.core).os_index), &mask);
    static_cast<void>(sched_setaffinity(0, sizeof mask, &mask));
}

time_ns thread_engine::now() const noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

int thread_engine::home_of(const void* data, std::size_t) const {
    if (on.memory_nodes().size() == 1) return 0;
    if (on.is_modelled()) return -1; // the nodes are not this machine's
    void* page = const_cast<void*>(data);
    int node = -1;
    if (syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0) != 0) return -1;
    for (std::size_t i = 0; i < on.memory_nodes().size(); ++i) // a negative one: not there yet
        if (on.memory_nodes()[i].os_index == node) return static_cast<int>(i);
    return -1;
}

std::uint32_t thread_engine::draw(worker& w, std::uint32_t below) {
    const std::uint64_t r = static_cast<thread_worker&>(w).random(); // 31 bits
    return static_cast<std::uint32_t>((r * below) >> 31);
}

} // namespace weft::engine
