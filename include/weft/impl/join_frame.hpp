#pragma once

#include <weft/concepts.hpp>
#include <weft/context.hpp>
#include <weft/impl/announce.hpp>
#include <weft/impl/entry.hpp>
#include <weft/impl/hot.hpp>

#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>
#include <variant> // brings std::destroy_at and std::addressof along, without the weight of <memory>

namespace weft::impl {

/// The result of `f`: a value for a reference, std::monostate for void.
template <class F>
using raw_result = typename returned_by<F>::type;
template <class F>
using result = std::conditional_t<std::is_void_v<raw_result<F>>, std::monostate, std::decay_t<raw_result<F>>>;

/// Calls `f` below entry `at`. `Linked` says that hot_head() is `at` already (the plain form).
template <bool Linked, class F>
WEFT_PART_OF_FORK inline result<F> call_closure(F& f, frame* at) {
    auto call = [&]() -> decltype(auto) {
        if constexpr (CalledWithContext<F>)
            return f(context(at));
        else if constexpr (Linked)
            return f();
        else
            return context(at).enter(f);
    };
    if constexpr (std::is_void_v<raw_result<F>>) {
        call();
        return {};
    } else {
        return call();
    }
}

/// The same on a rare path: calls in the closure are not inlined here, and so are inlined on the fast path,
/// for which compilers have a budget.
template <class F>
[[gnu::noinline, gnu::cold]] result<F> call_cold(F& f) {
    return call_closure<true>(f, hot_head());
}

template <class>
inline constexpr bool is_const_member = false;
template <class R, class C, class... A>
inline constexpr bool is_const_member<R (C::*)(A...) const> = true;
template <class R, class C, class... A>
inline constexpr bool is_const_member<R (C::*)(A...) const noexcept> = true;

/// A call leaves the closure as it was, except for mutable members. Overloaded call operators do not count: which one a
/// fork calls depends on how the closure was given.
template <class F>
concept ConstClosure = requires { requires is_const_member<decltype(&F::operator())>; } ||
                       requires { requires is_const_member<decltype(&F::template operator()<context>)>; };

inline constexpr std::size_t largest_copied_closure = 64;

template <class F>
concept SmallClosure = std::is_object_v<F> && std::is_trivially_copyable_v<F> &&
                       std::is_copy_constructible_v<F> && sizeof(F) <= largest_copied_closure;

/// Whether a fork copies the closure that was given as F&&. A copy has no address that code outside of the fork could
/// know, so its captures stay in registers until the frame is filled. An lvalue is copied only if its owner cannot tell.
template <class F, class Closure = std::remove_cvref_t<F>>
inline constexpr bool copied_by_fork =
    SmallClosure<Closure> && (!std::is_lvalue_reference_v<F> || ConstClosure<Closure>);

/// What a frame keeps of the second closure: a value, or a reference to an lvalue that is not copied.
template <class F>
using kept = std::conditional_t<copied_by_fork<F>, std::remove_cvref_t<F>, F>;

/// How the first closure is handed on.
template <class F>
using handed = std::conditional_t<copied_by_fork<F>, std::remove_cvref_t<F>, std::remove_reference_t<F>&>;

/// The frame of a join: what a thief needs to run its second closure, and where the thief puts the outcome.
template <class G>
struct join_frame : frame {
    [[no_unique_address]] G g;
    union {
        result<G> value;          ///< alive when a thief finished with outcome::value
        std::exception_ptr error; ///< alive with outcome::failed
    };

    template <class Closure>
    explicit join_frame(Closure&& closure) : g(std::forward<Closure>(closure)) {
        run = run_closure;
    }
    join_frame(const join_frame&) = delete;
    join_frame& operator=(const join_frame&) = delete;
    ~join_frame() {} // the function that takes the outcome destroys it

    /// The result of the closure, which a thief ran.
    result<G> take_value() {
        result<G> v(std::move(value));
        std::destroy_at(std::addressof(value));
        return v;
    }

    /// After the first closure: true if a thief ran the second one, whose result take_value() returns; false
    /// if the caller must run it. Rethrows the exception of the thief's run. The frame is unlinked.
    bool was_run(frame* parent) {
        const outcome how = slow_pop(parent, this);
        happens_after(&done);
        if (how != outcome::failed) return how == outcome::value;
        std::exception_ptr e(std::move(error));
        std::destroy_at(std::addressof(error));
        std::rethrow_exception(std::move(e));
    }

    /// The first closure threw: unlinks the frame. If a thief has it, waits for its end and drops its
    /// outcome.
    template <bool Plain>
    [[gnu::noinline, gnu::cold]] void abandon(frame* parent) noexcept {
        if constexpr (Plain) set_hot_head(parent);
        parent->next = nullptr;
        const outcome how = slow_pop(parent, this);
        happens_after(&done);
        switch (how) {
        case outcome::value: std::destroy_at(std::addressof(value)); break;
        case outcome::failed:
            std::destroy_at(std::addressof(error));
            count_suppressed();
            break;
        case outcome::not_run: break;
        }
    }

private:
    [[gnu::cold]] static bool run_closure(frame* base) {
        auto* self = static_cast<join_frame*>(base);
        struct edges {
            join_frame* self;
            ~edges() { happens_before(&self->done); }
        } const at_end{self};
        happens_after(self);
        try {
            ::new (static_cast<void*>(std::addressof(self->value))) result<G>(call_cold(self->g));
            return true;
        } catch (...) {
            ::new (static_cast<void*>(std::addressof(self->error)))
                std::exception_ptr(std::current_exception());
            return false;
        }
    }
};

} // namespace weft::impl
