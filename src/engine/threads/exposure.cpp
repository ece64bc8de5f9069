#include "engine/idle/exposure.hpp"
#include "engine/idle/offer_ahead.hpp"
#include "engine/process/process.hpp"
#include "engine/process/signal_claim.hpp"
#include "engine/threads/core_count_follower.hpp"
#include "engine/threads/exposure_handler.hpp"
#include "engine/threads/reached.hpp"
#include "engine/threads/thread_engine.hpp"
#include "engine/worker/message.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offers_ahead.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <pthread.h>

namespace weft::engine {

namespace {

constexpr int exposure_signal = SIGURG;

constinit signal_claim exposure_claim(exposure_signal);

void expose_or_forward(int, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    if (worker* w = impl::hot_self()) {
        auto& self = static_cast<thread_worker&>(*w);
        static_cast<thread_engine&>(w->engine).on_signal(self);
    } else {
        exposure_claim.forward(info, context);
    }
    errno = saved_errno;
}

constinit int engine_count = 0; // engines with threads; guarded by process_lock()

/// In the child there is one thread, the one that called fork(), and no engine.
void forget_engines_in_child() {
    engine_count = 0;
    exposure_claim.give_back();
    forget_core_count_followers();
}

/// Registered when the library is loaded; dlclose() undoes it.
[[maybe_unused]] const int fork_handler_registered =
    pthread_atfork(nullptr, nullptr, forget_engines_in_child);

} // namespace

exposure_handler::exposure_handler() {
    const std::lock_guard guard(process_lock());
    if (engine_count++ == 0) exposure_claim.take(expose_or_forward, SA_RESTART);
}

exposure_handler::~exposure_handler() {
    const std::lock_guard guard(process_lock());
    if (--engine_count == 0) exposure_claim.give_back();
}

void allow_exposure_signal() noexcept {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, exposure_signal);
    pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
}

void thread_engine::on_signal(thread_worker& w) noexcept {
    // seq_cst, before the askers are read: an asker that inserts itself later finds it false and sends
    // another signal (X2).
    w.signal_out.exchange(false, std::memory_order_seq_cst);
    // The words of this thread. It may be the own thread, asleep in the runtime, while an external thread works in
    // its place: then the mark is superfluous (P2).
    if (impl::weft_hot.in_runtime.load(std::memory_order_relaxed)) {
        // relaxed: same thread, leave_runtime() answers (X1)
        impl::weft_hot.signalled.store(true, std::memory_order_relaxed);
        return;
    }
    answer(w, true);
    w.hot->limit.store(!w.slow && w.current->running->silent_ && w.askers.empty()
                           ? reinterpret_cast<std::uintptr_t>(w.current->split)
                           : 0,
                       std::memory_order_relaxed);
}

void thread_engine::deliver(worker&, message& m) {
    auto& to = static_cast<thread_worker&>(*m.receiver);
    put_in_mailbox(m);
    // A busy receiver reads its mailbox at its next fork. If its way out of the runtime overwrites the 0, it
    // reads later.
    mark(to);
    queue::std_sync::fence(std::memory_order_seq_cst); // pairs with arm() and the look that follows it
    to.parker.wake();
}

void thread_engine::answer(worker& w, bool by_signal) noexcept {
    auto& own = static_cast<thread_worker&>(w);
    // seq_cst, before the askers are read: pairs with the load in signal() (X4)
    if (own.hides_nothing.load(std::memory_order_relaxed))
        own.hides_nothing.exchange(false, std::memory_order_seq_cst);
    if (w.hot->in_runtime.load(std::memory_order_relaxed)) {
        if (has_message_mark(w)) read_messages(w);
        offer_ahead_and(w, [&] { expose_to_askers(w); });
    } else { // in the signal handler no hook runs but child_detached() and child_settled()
        expose_to_askers(w);
    }
    // The mark of an asker without a signal stays until there is something to give. An asker that sent a
    // signal is refused.
    const bool is_asked = !w.askers.empty();
    if (by_signal && is_asked) own.refusals.fetch_add(1, std::memory_order_release); // pairs with ask()
    // What is asked keeps `limit` at 0 until the next fork or return.
    if (is_asked && !has_hidden(w)) own.hides_nothing.store(true, std::memory_order_seq_cst);
}

void thread_engine::expose_to_askers(worker& w) noexcept {
    if (fibers.is_short()) return; // the owner of an exposed entry may have to wait for it on another stack
    fiber* of = nullptr;
    while (impl::frame* entry = oldest_hidden(w, of)) {
        const auto id = w.askers.take_one_in(0, rank(worker_count()), rank(w.id));
        if (!id) return;
        thread_worker& asker = *all_workers[*id];
        if (!asker.slot.is_asked(w.id, w.arena().number)) continue;
        const std::uint32_t number = w.log ? number_of(*entry) : 0;
        exposure offered(w, *of, *entry, asker.id);
        note_offer(w, number, asker);
        // From the exchange on, the entry may be running on another worker.
        if (!asker.slot.answer(w.id, entry, w.arena().number)) { // it stopped asking, or asks another worker
            offered.undo();
            note(w, trace::kind::returned, number);
            continue;
        }
        w.count.exposures.add();
        begin_offering_ahead(w);
        asker.parker.wake();
    }
}

bool thread_engine::reclaim(worker& w, impl::frame& f) noexcept {
    if (!all_workers[static_cast<std::size_t>(f.thief)]->slot.reclaim(&f)) return false;
    w.count.returned.add();
    return true;
}

void thread_engine::begin_ask(thread_worker& asker, thread_worker& victim) noexcept {
    asker.slot.ask(victim.id, asker.arena().number);
    victim.askers.insert(rank(asker.id));
    mark(victim);
}

void thread_engine::mark(thread_worker& w) noexcept {
    // relaxed: the worker may overwrite it; then it is repeated, or a signal follows
    reached(w)->hot->limit.store(0, std::memory_order_relaxed);
}

bool thread_engine::signal(thread_worker& victim) noexcept {
    // seq_cst, after the insertion into the askers: pairs with the exchange in answer() (X4)
    if (victim.hides_nothing.load(std::memory_order_seq_cst)) return false;
    // seq_cst: pairs with the exchange in on_signal() (X2)
    if (victim.signal_out.exchange(true, std::memory_order_seq_cst)) return true;
    if (pthread_kill(reached(victim)->thread, exposure_signal) != 0)
        victim.signal_out.store(false, std::memory_order_release);
    return true;
}

} // namespace weft::engine
