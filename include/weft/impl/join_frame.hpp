#pragma once

#include <weft/context.hpp>
#include <weft/impl/hot.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft::impl {

template <class F>
concept TakesContext = std::invocable<F&, context>;

template <class F>
struct result_of_closure {
    using type = std::invoke_result_t<F&>;
};
template <TakesContext F>
struct result_of_closure<F> {
    using type = std::invoke_result_t<F&, context>;
};
/// What `f` returns: a value for a reference, std::monostate for nothing.
template <class F>
using raw_result = typename result_of_closure<std::remove_reference_t<F>>::type;
template <class F>
using result = std::conditional_t<std::is_void_v<raw_result<F>>, std::monostate, std::decay_t<raw_result<F>>>;

/// Calls `f` below entry `at`. `Linked` says that hot_head() is `at` already (the plain form).
template <bool Linked, class F>
[[gnu::always_inline]] inline result<F> call_closure(F& f, frame* at) {
    auto call = [&]() -> decltype(auto) {
        if constexpr (TakesContext<F>)
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

/// The frame of a join: what others need to run its second closure, and where they put the outcome. A closure
/// given as an lvalue is kept by reference, a temporary by value.
template <class G>
struct join_frame : frame {
    [[no_unique_address]] G g;
    union {
        result<G> value;          ///< alive when a thief finished with outcome::value
        std::exception_ptr error; ///< alive with outcome::failed
    };

    template <class Closure>
    explicit join_frame(Closure&& closure) : g(std::forward<Closure>(closure)) {
        run = [](frame* base) -> bool {
            auto* self = static_cast<join_frame*>(base);
            try {
                ::new (static_cast<void*>(std::addressof(self->value)))
                    result<G>(call_closure<true>(self->g, hot_head()));
                return true;
            } catch (...) {
                ::new (static_cast<void*>(std::addressof(self->error)))
                    std::exception_ptr(std::current_exception());
                return false;
            }
        };
    }
    join_frame(const join_frame&) = delete;
    join_frame& operator=(const join_frame&) = delete;
    ~join_frame() {} // who takes the outcome ends its life

    result<G> take_value() {
        result<G> v(std::move(value));
        std::destroy_at(std::addressof(value));
        return v;
    }
    [[noreturn]] void rethrow() {
        std::exception_ptr e(std::move(error));
        std::destroy_at(std::addressof(error));
        std::rethrow_exception(std::move(e));
    }
    void drop_value() noexcept { std::destroy_at(std::addressof(value)); }
    void drop_error() noexcept { std::destroy_at(std::addressof(error)); }
};

} // namespace weft::impl
