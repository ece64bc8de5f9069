#pragma once

#include <weft/concepts.hpp>
#include <weft/impl/entry.hpp>
#include <weft/impl/join_frame.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

namespace impl {
/// Runs `b` as a task that has the worker of the calling task for itself; returns on this worker when that task and
/// everything that it has started have ended. Rethrows the exception of `b`.
void run_isolated(body b);
} // namespace impl

/// Runs `f()` in a region of its own, and returns its result (a reference is returned as a value) or rethrows its
/// exception. The region has one worker, that of the caller: all tasks that `f` starts run on it, and until they have
/// ended it runs nothing else, whatever they wait for. So the caller continues on the same worker and in the same
/// thread, and what belongs to the worker (weft::per_worker) or to the thread (thread-local variables, a std::mutex
/// that it holds) is as `f` and its tasks have left it. (All workers of a modelled machine are one thread: programs
/// that run there must hold no std::mutex across a wait, not in a region either.)
///
///     weft::parallel_for(0, n, [&](int i) {
///         scratch& own = buffers.local();
///         own.load(i);
///         weft::isolate([&] { weft::parallel_for(0, m, [&](int j) { own.work_on(j); }); });
///         own.store(i);   // the values of iteration i, on the worker that loaded them
///     });
///
/// Loops and joins inside the region are not parallel; the tasks around it are, and other workers take over what this
/// one had still to do. A region costs two switches of stacks, and once for each worker an instance of the policy. The
/// region must not wait for what only this worker could do outside of it: a task that is bound to it, or a team for which
/// every worker is needed. In a thread that is no worker, the region is in the default runtime, and `f` may run on another
/// thread.
template <Closure F>
std::conditional_t<std::is_void_v<impl::raw_result<F>>, void, impl::result<F>> isolate(F&& f) {
    if constexpr (std::is_void_v<impl::raw_result<F>>) {
        auto region = [&] { static_cast<void>(impl::call_closure<true>(f, impl::hot_head())); };
        impl::run_isolated({[](void* c) { (*static_cast<decltype(region)*>(c))(); }, &region});
    } else {
        std::optional<impl::result<F>> r;
        auto region = [&] { r.emplace(impl::call_closure<true>(f, impl::hot_head())); };
        impl::run_isolated({[](void* c) { (*static_cast<decltype(region)*>(c))(); }, &region});
        return std::move(*r);
    }
}

/// @cond
template <class F>
    requires(!Closure<F>)
impl::not_a::Closure isolate(F&&) WEFT_REJECTED(
    "Closure: f is called without arguments or with a context, and returns void or a movable value");
/// @endcond

} // namespace weft
