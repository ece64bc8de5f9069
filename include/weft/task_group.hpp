#pragma once

#include <weft/concepts.hpp>
#include <weft/hints.hpp>
#include <weft/impl/announce.hpp>
#include <weft/impl/entry.hpp>
#include <weft/impl/group.hpp>

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace weft {

class graph;
namespace impl {
template <class>
struct moldable_closure;
struct width_clause;
} // namespace impl

/// A set of child tasks with one wait for all of them.
///
///     weft::task_group g;
///     for (auto& part : parts) g.run([&] { work(part); });
///     g.wait();
///
/// On a worker under a depth-first policy, run() starts the child at once, and thieves can steal the rest of
/// the caller meanwhile. When that has happened twice in a group, `steal`, `near` and `pws` queue its next
/// children, a bounded number at a time. So a million calls of run() in a loop take little memory. Under a
/// breadth-first policy the child is queued. Any task may add children while the group is open, and so may
/// the children. One task at a time may wait. After wait() the group may be used again. A group must not
/// outlive the task that made it, unless that task is a root. A thread that is no worker may make a group and
/// add children: they run in the default runtime, as children of one root, and a wait() works like
/// runtime::run().
class task_group {
public:
    task_group() noexcept { state_.around_ = impl::group_of_task(); }
    /// A group with hints for all of its children together: `work` is their sum, `bytes` are all their data.
    explicit task_group(const hints& h) noexcept : task_group() {
        ::new (static_cast<void*>(&hint_)) hints(h);
        state_.hint_ = &hint_;
    }
    /// For the library itself: a group whose children have no group around them, like roots.
    explicit task_group(impl::apart_tag) noexcept { state_.apart_ = true; }
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Waits for the children. An exception that no wait() rethrew ends the program (std::terminate), as with
    /// std::thread. If the destructor runs because of another exception, that one continues, and the group's
    /// exception is counted in run_stats::suppressed_exceptions.
    ~task_group() {
        const impl::announced_wait edges(&state_);
        if (!state_.is_settled()) impl::end_group(state_);
    }

    /// Adds a child that calls `f()`. `f` is moved (or copied) into the child. Throws what that move throws,
    /// and weft::error if no stack is available; the group is then unchanged.
    template <TaskBody F>
    void run(F&& f) {
        spawn(impl::announce_child(std::forward<F>(f), &state_), no_hints);
    }
    /// The same with hints.
    template <TaskBody F>
    void run(F&& f, const hints& h) {
        spawn(impl::announce_child(std::forward<F>(f), &state_), h);
    }
    /// Adds a moldable child (weft::moldable, docs/moldable-tasks.md): `body(rank, width)` runs on as many workers as the
    /// policy chooses, else on one. The hints are those of the body. The child waits for all calls; the first exception is the
    /// child's. Needs weft/graph.hpp: the child is a graph of one task. Throws as the other forms do.
    template <class F, class Graph = graph>
    void run(impl::moldable_closure<F> body, const hints& h = no_hints) {
        run([own = std::move(body), h]() mutable {
            Graph alone;
            alone.add(std::move(own), h);
            alone.run();
        });
    }
    /// The same with a width: `width(n)` or `fixed_width(n)`. If there are fewer than a fixed width, the child's exception is a
    /// weft::error.
    template <class F, class Width, class Graph = graph>
        requires std::is_same_v<Width, impl::width_clause>
    void run(impl::moldable_closure<F> body, const Width& wide, const hints& h = no_hints) {
        run([own = std::move(body), wide, h]() mutable {
            Graph alone;
            alone.add(std::move(own), wide, h);
            alone.run();
        });
    }
    /// @cond
    impl::not_a::TaskBody run(impl::any, const hints& = {})
        WEFT_REJECTED("TaskBody: f is moved or copied into the child, and called there without arguments");
    /// @endcond

    /// Returns when every child has ended, and rethrows the first exception of any child; the other children
    /// still run to their ends. Waiting suspends the calling task, not its worker. A second wait() returns at
    /// once. Throws weft::error if another task waits already.
    void wait() {
        const impl::announced_wait edges(&state_);
        if (!state_.is_settled()) impl::wait_group(state_);
    }

    /// Drops the children that have not started, including those of groups that the children have made.
    /// Children that have started continue, and may call is_cancelled() of a group or of this_task. wait()
    /// still waits, and ends the cancellation.
    void cancel() noexcept { impl::cancel(state_); }
    /// True if this group was cancelled, or a group around it (of which the task that made this group is a
    /// child).
    bool is_cancelled() const noexcept { return impl::is_cancelled(&state_); }

    /// @cond
    /// For the library itself: no child is open. acquire: pairs with the last child's decrement (G3)
    bool has_ended() const noexcept { return state_.open_.load(std::memory_order_acquire) == 1; }
    /// @endcond

private:
    template <class F>
    void spawn(F&& f, const hints& h) {
        using closure = std::decay_t<F>;
        const auto silent_body = [](void* source) {
            closure own(static_cast<F&&>(*static_cast<std::remove_reference_t<F>*>(source)));
            impl::happens_before(source); // the move from it, before the parent continues on another worker
            impl::child_started();
            own();
        };
        void* const source = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
        // A child with a type of its own is a task of its own.
        if (h.preempt == preemption::runtime_default && impl::run_silently(state_, h, silent_body, source))
            return impl::happens_after(source);
        const impl::child_record child = impl::begin_child(sizeof(closure), alignof(closure));
        try {
            ::new (child.storage) closure(std::forward<F>(f));
        } catch (...) {
            impl::discard_child(child);
            throw;
        }
        impl::happens_before(child.storage);
        impl::commit_child(
            state_, child, h,
            [](void* at) {
                impl::happens_after(at);
                const std::unique_ptr<closure, destroy> own(static_cast<closure*>(at));
                (*own)();
            },
            [](void* at) noexcept {
                impl::happens_after(at);
                std::destroy_at(static_cast<closure*>(at));
            });
    }

    /// A function decays to a pointer before it is moved into a child.
    template <class F>
        requires std::is_function_v<F>
    void spawn(F& f, const hints& h) {
        F* pointer = f;
        spawn(pointer, h);
    }

    struct destroy {
        template <class T>
        void operator()(T* at) const noexcept {
            std::destroy_at(at);
        }
    };
    union {
        hints hint_; ///< alive if given
    };
    group state_{};
};

} // namespace weft
