#pragma once

#include <weft/concepts.hpp>
#include <weft/context.hpp>
#include <weft/hints.hpp>
#include <weft/impl/announce.hpp>
#include <weft/impl/entry.hpp>
#include <weft/impl/join_frame.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {

/// The result of a join: a pair of results, with std::monostate for a void one; void if both are void.
template <class F, class G>
using join_result =
    std::conditional_t<std::is_void_v<impl::raw_result<F>> && std::is_void_v<impl::raw_result<G>>, void,
                       std::pair<impl::result<F>, impl::result<G>>>;

/// Hints for the two closures of a join.
struct join_hints {
    hints first{};  ///< for f
    hints second{}; ///< for g
};

namespace impl {

template <class Result, class A, class B>
WEFT_PART_OF_FORK inline Result joined(A&& a, B&& b) {
    if constexpr (std::is_void_v<Result>)
        return static_cast<void>(a), static_cast<void>(b);
    else
        return Result(std::forward<A>(a), std::forward<B>(b));
}

// Rare paths are in cold functions of their own: compilers inline a recursive function into itself, which
// saves a third of a fork's instructions, only while it is small, cold code included.

template <bool Plain, class F, class G>
[[gnu::noinline, gnu::cold]] join_result<F, G> fork_cold(frame* parent, F& f, G& g, const join_hints* h);

/// The first closure has returned `a`, and the frame may have been exposed.
template <bool Plain, class R, class A, class G>
[[gnu::noinline, gnu::cold]] R return_slow_path(frame* parent, join_frame<G>& second, A a) {
    if (second.was_run(parent)) return joined<R>(std::move(a), second.take_value());
    const inside_mark traced(second);
    return joined<R>(std::move(a), call_closure<Plain>(second.g, parent));
}

/// A fork whose frame is linked: runs f, unlinks, compares, runs g.
template <bool Plain, class F, class G>
WEFT_PART_OF_FORK inline join_result<F, G> fork_linked(frame* parent, F& f, join_frame<G>& second) {
    using R = join_result<F, G>;
    struct unwinding {
        join_frame<G>& second;
        frame* parent;
        bool threw = true;
        [[gnu::always_inline]] ~unwinding() {
            if (threw) second.template abandon<Plain>(parent);
        }
    } first{second, parent};
    result<F> a = call_closure<Plain>(f, &second);
    first.threw = false;

    parent->next = nullptr;
    if constexpr (Plain) set_hot_head(parent);
    if (at_limit(&second)) [[unlikely]]
        return return_slow_path<Plain, R>(parent, second, std::move(a));
    return joined<R>(std::move(a), call_closure<Plain>(second.g, parent));
}

/// A closure of a fork of the reported zone, with its outcome. Traces tell closures apart by the function that calls this, so
/// it has no other type in it.
template <class F>
struct reported_closure {
    F& f;
    std::optional<result<F>> value{};
    std::exception_ptr error{};

    // A task of the reported zone starts on an empty chain: hot_head() is right for both forms.
    void operator()() noexcept {
        try {
            value.emplace(call_cold(f));
        } catch (...) { error = std::current_exception(); }
    }
};

/// A fork of the reported zone: the policy sees its closures as tasks.
template <bool Plain, class F, class G>
[[gnu::noinline, gnu::cold]] join_result<F, G> fork_reported(frame* parent, F& f, G& g, const join_hints* h) {
    using R = join_result<F, G>;
    reported_closure<F> a{f};
    reported_closure<G> b{g};
    const bool reported =
        fork_tasks({call_announced<reported_closure<F>>, announce_call(a)}, h ? h->first : hints{},
                   {call_announced<reported_closure<G>>, announce_call(b)}, h ? h->second : hints{});
    announce_end(a);
    announce_end(b);
    if (!reported) {
        const silent_scope lazily;
        return fork_cold<Plain>(parent, f, g, h);
    }
    // That of f takes precedence, whichever came first.
    if (a.error && b.error) count_suppressed();
    if (a.error) std::rethrow_exception(std::move(a.error));
    if (b.error) std::rethrow_exception(std::move(b.error));
    return joined<R>(std::move(*a.value), std::move(*b.value));
}

/// A fork in a thread that is no worker.
template <class F, class G>
[[gnu::noinline, gnu::cold]] join_result<F, G> fork_outside(F& f, G& g, const join_hints* h) {
    using R = join_result<F, G>;
    if constexpr (std::is_void_v<R>) {
        auto root = [&] { fork_cold<true>(hot_head(), f, g, h); };
        run_as_root(root);
    } else {
        std::optional<R> r;
        auto root = [&] { r.emplace(fork_cold<true>(hot_head(), f, g, h)); };
        run_as_root(root);
        return std::move(*r);
    }
}

/// Every fork that is not on its fast path. `parent` is null in a thread that is no worker, otherwise the
/// frame is linked. The frame of this function stays on the stack below the fork, so it is kept small.
template <bool Plain, class F, class G>
[[gnu::noinline, gnu::cold]] join_result<F, G> fork_slow_path(frame* parent, handed<F> f,
                                                              join_frame<G>& second, const join_hints* h) {
    std::remove_reference_t<G>& g = second.g;
    if (!parent) return fork_outside(f, g, h);
    switch (slow_push(parent, &second, h ? &h->second : nullptr)) {
    case zone::silent: return fork_linked<Plain>(parent, f, second);
    case zone::outside: return fork_outside(f, g, h);
    case zone::reported: break;
    }
    if constexpr (Plain) set_hot_head(parent);
    return fork_reported<Plain>(parent, f, g, h);
}

/// The fork itself. On its fast path: fill the frame, link, compare, run f, unlink, compare, run g; no atomic
/// operation and no fence. The comparisons come after the changes of the chain, since the exposure handler
/// may come between any two instructions. The handler may expose an entry that is linked; the second
/// comparison then sees it (H3). If it finds no entry for a thief that asks, it stores 0 to `limit`; the
/// first comparison then sees that. src/engine/run/README.md has the budget in instructions and the argument.
template <bool Plain, class F, class G>
WEFT_FORK_FUNCTION inline join_result<F, G> fork(frame* parent, handed<F> f, G&& g, const join_hints* h) {
    join_frame<kept<G>> second(std::forward<G>(g));
    bool off_fast_path = Plain && !parent;
    if (!off_fast_path) [[likely]] {
        second.next = nullptr;
        happens_before(&second);
        handler_fence();
        parent->next = &second; // H2
        if constexpr (Plain) set_hot_head(&second);
        off_fast_path = at_limit(&second);
    }
    if (off_fast_path) [[unlikely]]
        return fork_slow_path<Plain, F, kept<G>>(parent, f, second, h);
    return fork_linked<Plain>(parent, f, second);
}

template <bool Plain, class F, class G>
join_result<F, G> fork_cold(frame* parent, F& f, G& g, const join_hints* h) {
    return fork<Plain, F&, G&>(parent, f, g, h);
}

/// A join with hints, or without if `h` is null.
template <class F, class G>
[[gnu::always_inline]] inline join_result<F, G> join_hinted(const join_hints* h, F&& f, G&& g) {
    return fork<true, F, G>(hot_head(), f, std::forward<G>(g), h);
}

} // namespace impl

/// Runs `f()` and `g()`, possibly at the same time, and returns when both have ended. Returns their results
/// as a pair, with std::monostate for a void one, and void if both are void. A reference is returned as a
/// value. `f` runs on the calling thread, at once; `g` runs after it, or meanwhile on an idle worker. In a
/// thread that is no worker, both run in the default runtime.
///
/// If one closure throws, join rethrows the exception after the other has ended. If `f` throws, `g` may not
/// have run at all. If both throw, join rethrows that of `f`.
///
/// A join copies a closure of at most 64 bytes that is trivially copyable and whose call operator is const, as that
/// of a lambda expression without `mutable`, even if it is given as an lvalue: changes of its mutable members are
/// lost. Any other lvalue is used where it is. Captures by value stay in registers; captures by reference keep the
/// variables in memory.
///
/// The stack needed is that of the plain nested
/// calls plus one frame per level (about 64 bytes and the captures of `g`). The caller may continue on
/// another thread: it must not hold a lock of a thread, or the address of a thread-local variable, across a
/// join.
///
/// Sources: Frigo, Leiserson, Randall 1998 (work-first); Mohr, Kranz, Halstead 1991 (lazy task creation).
template <Closure F, Closure G>
[[gnu::always_inline]] inline join_result<F, G> join(F&& f, G&& g) {
    return impl::join_hinted<F, G>(nullptr, std::forward<F>(f), std::forward<G>(g));
}
/// The same with hints.
template <Closure F, Closure G>
inline join_result<F, G> join(F&& f, G&& g, const join_hints& h) {
    return impl::join_hinted<F, G>(&h, std::forward<F>(f), std::forward<G>(g));
}

/// The same with a context that is passed down: `f` and `g` take a weft::context, or no argument (then the
/// plain forms inside them work as usual).
template <Closure F, Closure G>
[[gnu::always_inline]] inline join_result<F, G> join(context ctx, F&& f, G&& g) {
    return impl::fork<false, F, G>(ctx.at(), f, std::forward<G>(g), nullptr);
}
/// The same with hints.
template <Closure F, Closure G>
inline join_result<F, G> join(context ctx, F&& f, G&& g, const join_hints& h) {
    return impl::fork<false, F, G>(ctx.at(), f, std::forward<G>(g), &h);
}

/// @cond
template <class F, class G>
    requires(!std::same_as<std::remove_cvref_t<F>, context> && !(Closure<F> && Closure<G>))
impl::not_a::Closure join(F&&, G&&, const join_hints& = {}) WEFT_REJECTED(
    "Closure: f and g are called without arguments or with a context, and return void or a movable value");
template <class F, class G>
    requires(!(Closure<F> && Closure<G>))
impl::not_a::Closure join(context, F&&, G&&, const join_hints& = {}) WEFT_REJECTED(
    "Closure: f and g are called without arguments or with a context, and return void or a movable value");
/// @endcond

namespace impl {

template <class F, class... Rest>
void invoke_all(const hints* h, F& f, Rest&... rest) {
    if constexpr (sizeof...(Rest) == 0) {
        static_cast<void>(call_closure<true>(f, hot_head()));
    } else {
        const auto first = [&f] { static_cast<void>(call_closure<true>(f, hot_head())); };
        const auto others = [&, h] { invoke_all(h ? h + 1 : nullptr, rest...); };
        if (!h) return join(first, others);
        join_hints both{h[0], h[1]};
        for (std::size_t i = 2; i <= sizeof...(Rest); ++i) { // the remaining hints together
            both.second.work += h[i].work;
            both.second.bytes += h[i].bytes;
        }
        join(first, others, both);
    }
}

} // namespace impl

/// Runs all closures, possibly at the same time, as nested joins in the order of the arguments. Results are
/// not returned.
template <Closure... F>
    requires(sizeof...(F) > 0)
void parallel_invoke(F&&... f) {
    impl::invoke_all(nullptr, f...);
}

/// The same with hints, one for each function in the same order: `parallel_invoke({{.work = 2}, {.work = 1}},
/// f, g)`.
template <std::size_t N, Closure... F>
    requires(sizeof...(F) == N)
void parallel_invoke(const hints (&h)[N], F&&... f) {
    impl::invoke_all(h, f...);
}

/// @cond
template <class... F>
    requires(!(Closure<F> && ...))
impl::not_a::Closure parallel_invoke(F&&...)
    WEFT_REJECTED("Closure: each function is called without arguments or with a context");
template <std::size_t N, class... F>
    requires(sizeof...(F) != N || !(Closure<F> && ...))
impl::not_a::Closure parallel_invoke(const hints (&)[N], F&&...)
    WEFT_REJECTED("Closure: each function is called without arguments or with a context, and each has hints");
/// @endcond

} // namespace weft
