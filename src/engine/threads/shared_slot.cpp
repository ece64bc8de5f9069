#include "engine/threads/shared_slot.hpp"

#include "engine/threads/thread_engine.hpp"
#include "share/process_clock.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace weft::engine {

shared_slot::shared_slot(thread_engine& of, share::slot_writer slot)
    : of_(of)
    , slot_(std::move(slot))
    , began_(of.now()) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(
        &thread_, nullptr, [](void* self) { return static_cast<shared_slot*>(self)->run(), self; }, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure)
        throw error(fmt::format("cannot create the thread that publishes ({})", std::strerror(failure)),
                    "WEFT_SHARE", "no WEFT_SHARE, or a larger limit of threads or memory for this process");
    pthread_setname_np(thread_, "weft-share");
}

shared_slot::~shared_slot() {
    {
        const std::lock_guard lock(waiting_);
        stopping_ = true;
        changed_.notify_one();
    }
    pthread_join(thread_, nullptr);
    publish(true);
}

void shared_slot::run() noexcept {
    std::unique_lock lock(waiting_);
    while (!stopping_) {
        lock.unlock();
        publish(false);
        of_.wish_active(slot_.wish());
        lock.lock();
        changed_.wait_for(lock, std::chrono::nanoseconds(slot_.period()), [&] { return stopping_; });
    }
}

void shared_slot::publish(bool is_over) noexcept {
    try {
        counted_.take(of_, of_.now());
    } catch (const std::bad_alloc&) { return; } // readers see that nothing has changed
    share::slot_numbers n{.processor = share::processor_ns(),
                          .workers = of_.worker_count(),
                          .active =
                              of_.active_count.load(std::memory_order_relaxed), // a count, orders nothing
                          .is_over = is_over};
    constexpr auto most = static_cast<std::uint64_t>(share::most_count);
    std::uint64_t tasks = 0, cycles = 0, bytes = 0;
    time_ns busy = 0;
    for (std::size_t i = 0; i < counted_.workers.size(); ++i) {
        const tally::worker& w = counted_.workers[i];
        const worker_counters& count = of_.worker_at(static_cast<int>(i)).count;
        tasks += w.tasks;
        cycles += count.declared_cycles.get();
        bytes += count.declared_bytes.get();
        busy += std::max<time_ns>(counted_.at - began_ - w.idle, 0);
    }
    busy_ = std::max<std::int64_t>(busy_, busy);
    n.busy = busy_;
    n.tasks = static_cast<std::int64_t>(std::min(tasks, most));
    n.work = static_cast<std::int64_t>(std::min(cycles, most));
    n.bytes = static_cast<std::int64_t>(std::min(bytes, most));
    slot_.publish(n);
}

} // namespace weft::engine
