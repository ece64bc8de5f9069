#pragma once

#include "engine/run/completion.hpp"

#include <cstdint>
#include <new>

namespace weft::engine {

/// The completion by which a waiter is told. The public header has its storage; the model check has the
/// completion itself.
inline completion<>& completion_of_waiter(std::uintptr_t& storage) noexcept {
    return *std::launder(reinterpret_cast<completion<>*>(&storage));
}
template <class Sync>
completion<Sync>& completion_of_waiter(completion<Sync>& word) noexcept {
    return word;
}

/// The steps of impl::wait_queue and impl::waiter on their words (rules W1 and W2 of
/// weft/impl/wait_queue.hpp). They are templates, so that the model check runs the same steps on words that
/// it watches.
///
///   word                       | writer, reader                    | order
///   first_, last_              | holder of the queue's lock        | plain
///   next_, previous_, queued_  | holder of the queue's lock        | plain
///   next_ of a removed waiter  | the thread that removed it        | plain, until it has told the waiter
///   told_                      | see completion                    | its exchange publishes `expired`, and
///                              |                                   | all that the waking thread did before
struct wait_list {
    // ---- called under the lock
    template <class Queue, class Waiter>
    static void push(Queue& q, Waiter& w) noexcept {
        w.next_ = nullptr;
        w.previous_ = q.last_;
        w.queued_ = true;
        (q.last_ ? q.last_->next_ : q.first_) = &w;
        q.last_ = &w;
    }
    /// Removes the first waiter; null if there is none.
    template <class Queue>
    static auto pop(Queue& q) noexcept {
        auto* const w = first_of(q);
        if (!w) return w;
        q.first_ = w->next_;
        (q.first_ ? q.first_->previous_ : q.last_) = nullptr;
        w->next_ = nullptr;
        w->queued_ = false;
        return w;
    }
    /// Removes all waiters and returns them as a list.
    template <class Queue>
    static auto pop_all(Queue& q) noexcept {
        auto* const all = first_of(q);
        for (auto* w = all; w; w = w->next_) w->queued_ = false;
        q.first_ = nullptr;
        q.last_ = nullptr;
        return all;
    }

    // ---- called without the lock
    /// Removes `w`. True if it was in the queue: no other thread will wake it now.
    template <class Queue, class Waiter>
    static bool remove(Queue& q, Waiter& w) noexcept {
        q.lock();
        const bool was = w.queued_;
        if (was) {
            (w.previous_ ? w.previous_->next_ : q.first_) = w.next_;
            (w.next_ ? w.next_->previous_ : q.last_) = w.previous_;
            w.next_ = nullptr;
            w.queued_ = false;
        }
        q.unlock();
        return was;
    }
    /// Tells each waiter of a list that was removed. `make_ready(word, home)` is called for those that
    /// already sleep.
    template <class Waiter, class MakeReady>
    static void notify(Waiter* list, MakeReady&& make_ready) noexcept {
        while (list) {
            Waiter& told = *list;
            list = told.next_;
            void* const home = told.home_;
            const std::uintptr_t word = completion_of_waiter(told.told_).finish(false);
            // `told` may be gone from here on.
            if (word != completion<>::running) make_ready(word, home);
        }
    }
    template <class Waiter, class F>
    static void for_each(const Waiter* list, F&& f) noexcept {
        for (; list; list = list->next_) f(list);
    }
    /// The step of a timer: wakes `w`, unless another thread has removed `w` and will wake it.
    template <class Queue, class Waiter, class Flag, class Wake>
    static void expire(Queue& q, Waiter& w, Flag& expired, Wake&& wake) noexcept {
        if (!remove(q, w)) return;
        expired = true; // before wake(), which publishes it
        wake(&w);
    }

private:
    template <class Queue>
    static auto* first_of(Queue& q) noexcept {
        return q.first_ ? &*q.first_ : nullptr;
    }
};

} // namespace weft::engine
