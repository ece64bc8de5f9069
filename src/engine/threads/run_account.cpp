#include "engine/threads/run_account.hpp"

#include "engine/observe/report_file.hpp"
#include "engine/threads/report.hpp"
#include "engine/threads/thread_engine.hpp"
#include "engine/threads/total_report.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weft::engine {

namespace {

constexpr time_ns free_reading = 1'000'000; ///< what reading at the ends of runs may take in any case,
constexpr time_ns share_of_reading = 100;   ///< and this part of the time since the first run

constexpr time_ns unknown_wait = 3'600'000'000'000; ///< longer than what is read

time_ns search_of(const tally::worker& w) noexcept { return w.idle - w.asleep; }

awake_time awake_in(const tally& t, std::size_t worker) noexcept {
    const tally::worker& w = t.workers[worker];
    return {t.elapsed() - w.idle, search_of(w)};
}

/// Processor time of a process, without that of workers that search. The kernel counts it by ticks where threads run on
/// other cores, so it may be more than the cores had.
time_ns without_search(time_ns cpu, const tally& meanwhile, int cores) noexcept {
    constexpr int most_cores = 4096; // of any machine; keeps the product small
    return std::clamp<time_ns>(cpu - search_of(meanwhile.total()), 0,
                               meanwhile.elapsed() * std::min(cores, most_cores));
}

} // namespace

run_account::run_account(thread_engine& of)
    : of_(of)
    , threads_(static_cast<std::size_t>(of.worker_count())) {}

void run_account::thread_begins(thread_worker& w) noexcept {
    if (of_.options.preempt.type != preemption::off) return; // another thread may run the worker later
    thread_usage& own = threads_[static_cast<std::size_t>(w.id)].own;
    own.follow(pthread_self(), w.own.id);
    w.usage.of_thread = &own;
}

void run_account::visitor_comes(thread_worker& w) noexcept {
    const std::lock_guard guard(counting_);
    threads_of_worker& t = threads_[static_cast<std::size_t>(w.id)];
    t.visitor.follow(pthread_self(), gettid());
    t.came = {t.visitor.cpu(), t.visitor.queued()};
    t.is_visited = true;
    w.usage.of_thread = &t.visitor;
}

void run_account::visitor_leaves(thread_worker& w) noexcept {
    const std::lock_guard guard(counting_);
    threads_of_worker& t = threads_[static_cast<std::size_t>(w.id)];
    t.of_visits.add(kernel_count{t.visitor.cpu(), t.visitor.queued()}.since(t.came));
    t.is_visited = false;
    w.usage.of_thread = &t.own;
}

void run_account::root_begins() {
    const std::lock_guard guard(counting_);
    if (open_roots_++ > 0) return;
    if (runs_++ == 0) {
        process_at_first_ = read_process();
        kernel_at_begin_ = kernel_at_first_ = read_kernel();
        at_begin_.take(of_, of_.now());
        first_ = at_begin_;
        total_ = first_.since(first_);
        return;
    }
    const time_ns came = of_.now(), used = process_cpu() - cpu_at_end_;
    kernel_at_begin_ = read_kernel_for_run();
    at_begin_.take(of_, of_.now());
    outside_ += came - recorded_until_;
    recording_ += (recorded_until_ - at_end_.at) + (at_begin_.at - came);
    outside_process_cpu_ += used;
    outside_cpu_ += without_search(used, at_begin_.since(at_end_), of_.options.cores);
}

bool run_account::run_continues() {
    const std::lock_guard guard(counting_);
    return open_roots_ > 0 && ++open_roots_;
}

void run_account::root_ended() {
    const std::lock_guard guard(counting_);
    if (--open_roots_ > 0) return;
    at_end_.take(of_, of_.now());
    const tally run = at_end_.since(at_begin_);
    total_.add(run);
    thread_report r = of_.report_of(run);
    if (!kernel_at_begin_.empty() && kernel_is_understood()) {
        const time_ns began = of_.now();
        for (std::size_t w = 0; w < threads_.size(); ++w)
            r.parts.push_back(divide(awake_in(run, w), read_kernel(w).since(kernel_at_begin_[w])));
        spent_reading_ += of_.now() - began;
    }
    report_file& reports = *of_.files.reports();
    reports.add(
        [r = std::move(r), as_json = reports.wants_json()] { return as_json ? r.to_json() : r.to_table(); });
    cpu_at_end_ = process_cpu();
    recorded_until_ = of_.now();
}

void run_account::threads_end() noexcept {
    const std::lock_guard guard(counting_);
    if (threads_ended_) return;
    if (runs_ > 0) read_last();
    threads_ended_ = true;
}

std::string run_account::describe(bool as_json) {
    const std::lock_guard guard(counting_);
    if (runs_ == 0) return {};
    if (!threads_ended_) read_last();
    const bool is_open = open_roots_ > 0;
    tally all = total_;
    if (is_open) all.add(last_.since(at_begin_));
    const tally window = last_.since(first_);

    total_report t{.all = of_.report_of(all),
                   .runs = runs_,
                   .last_is_open = is_open,
                   .choices = of_.outermost.scheduler->choices()};
    t.all.parts = parts_of_total(all, window);
    run_figures& f = t.figures;
    f.workers = of_.worker_count();
    f.cores = of_.options.cores;
    f.all_active = of_.active_count.load(std::memory_order_relaxed) == f.workers; // a count, orders nothing
    f.span = (is_open ? last_.at : at_end_.at) - first_.at;
    f.in_runs = all.elapsed();
    f.outside = outside_;
    f.outside_cpu = outside_cpu_;
    f.idle = all.total().idle;
    t.recording = recording_;
    const process_count &to = process_at_last_, &from = process_at_first_;
    t.minor_faults = to.minor_faults - from.minor_faults;
    f.pages_read = to.major_faults - from.major_faults;
    t.voluntary_switches = to.voluntary_switches - from.voluntary_switches;
    t.involuntary_switches = to.involuntary_switches - from.involuntary_switches;
    if (!t.all.parts.empty()) {
        busy_parts sum = t.all.parts.front();
        for (std::size_t w = 1; w < t.all.parts.size(); ++w) sum.add(t.all.parts[w]);
        f.blocked = sum.blocked;
        f.blocked_uncertain = sum.uncertain;
        kernel_count of_workers{.queued = 0};
        for (std::size_t w = 0; w < threads_.size(); ++w)
            of_workers.add(kernel_at_last_[w].since(kernel_at_first_[w]));
        f.cpu = of_workers.cpu;
        f.queued = of_workers.queued;
        const time_ns after = is_open ? 0 : to.cpu - cpu_at_end_;
        const time_ns search_outside = search_of(window.total()) - search_of(all.total());
        f.other_cpu =
            std::max<time_ns>(to.cpu - from.cpu - outside_process_cpu_ - after - (f.cpu - search_outside), 0);
    }
    return as_json ? t.to_json() : t.to_table();
}

std::vector<busy_parts> run_account::parts_of_total(const tally& all, const tally& window) const {
    std::vector<busy_parts> parts;
    if (kernel_at_first_.empty() || kernel_at_last_.empty()) return parts;
    for (std::size_t w = 0; w < threads_.size(); ++w) {
        const kernel_count k = kernel_at_last_[w].since(kernel_at_first_[w]);
        const time_ns busy = awake_in(all, w).busy;
        const awake_time awake = awake_in(window, w);
        parts.push_back(divide({busy, std::max<time_ns>(awake.busy + awake.search - busy, 0)}, k));
    }
    return parts;
}

bool run_account::kernel_is_understood() const noexcept {
    return !of_.pace && of_.preempts == preemption::off && !of_.preemption.has_begun();
}

/// How long the worker may have waited for a core that it has not got yet.
time_ns run_account::open_wait(std::size_t worker) const noexcept {
    const threads_of_worker& t = threads_[worker];
    const worker_counters& count = of_.all_workers[worker]->count;
    // It was on its core until it slept, and a wait at the end of its sleep is not counted either way.
    if (count.asleep.is_open()) return 0;
    const thread_usage& thread = t.is_visited ? t.visitor : t.own;
    const time_ns before = thread.cpu();
    if (thread.cpu() > before) return 0; // it is on a core
    if (count.idle.is_open()) return std::max<time_ns>(count.idle.until(of_.now()) - count.idle.until(0), 0);
    // In no run there is no task: it has lost its core since its last one.
    return open_roots_ == 0 ? unknown_wait : 0;
}

kernel_count run_account::read_kernel(std::size_t worker) const noexcept {
    const threads_of_worker& t = threads_[worker];
    const thread_worker& w = *of_.all_workers[worker];
    const time_ns open = open_wait(worker);
    kernel_count k{t.own.cpu(), t.own.queued(), static_cast<time_ns>(w.usage.queued_asleep.get()),
                   w.count.parks.get(), open};
    k.add(t.of_visits);
    if (t.is_visited) k.add(kernel_count{t.visitor.cpu(), t.visitor.queued()}.since(t.came));
    return k;
}

run_account::kernel_counts run_account::read_kernel() const {
    kernel_counts all;
    if (!kernel_is_understood()) return all;
    for (std::size_t w = 0; w < threads_.size(); ++w) all.push_back(read_kernel(w));
    return all;
}

run_account::kernel_counts run_account::read_kernel_for_run() {
    const time_ns began = of_.now();
    if (spent_reading_ > free_reading + (began - first_.at) / share_of_reading) return {};
    kernel_counts all = read_kernel();
    spent_reading_ += of_.now() - began;
    return all;
}

void run_account::read_last() {
    process_at_last_ = read_process();
    kernel_at_last_ = read_kernel();
    last_.take(of_, of_.now());
}

time_ns run_account::process_cpu() noexcept {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return time_ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

run_account::process_count run_account::read_process() noexcept {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return {static_cast<std::uint64_t>(u.ru_minflt), static_cast<std::uint64_t>(u.ru_majflt),
            static_cast<std::uint64_t>(u.ru_nvcsw), static_cast<std::uint64_t>(u.ru_nivcsw), process_cpu()};
}

} // namespace weft::engine
