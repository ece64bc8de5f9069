#pragma once

#include <weft/context.hpp>

#include <concepts>
#include <type_traits>

/// What the functions of the library ask of the callables that they are given.
///
/// A call with a callable that does not fit chooses an overload that is rejected, so the compiler names the call, the
/// concept and the reason in a few lines, instead of every overload that does not fit.
namespace weft {

/// `f()` can be called.
template <class F>
concept CalledWithoutArguments = std::invocable<std::remove_reference_t<F>&>;

/// `f(weft::context)` can be called.
template <class F>
concept CalledWithContext = std::invocable<std::remove_reference_t<F>&, context>;

namespace impl {
/// What a closure returns, `type`; there is none if it cannot be called.
template <class F>
struct returned_by : std::invoke_result<std::remove_reference_t<F>&> {};
template <CalledWithContext F>
struct returned_by<F> : std::invoke_result<std::remove_reference_t<F>&, context> {};
} // namespace impl

/// A closure of join(), parallel_invoke() or runtime::run(): it is called without arguments or with a weft::context, on
/// any worker, and returns void or a value that can be moved.
template <class F>
concept Closure = (CalledWithoutArguments<F> || CalledWithContext<F>) &&
                  (std::is_void_v<typename impl::returned_by<F>::type> ||
                   std::constructible_from<std::decay_t<typename impl::returned_by<F>::type>,
                                           typename impl::returned_by<F>::type>);

/// What a task can be made of (task_group::run(), async(), graph::add()): it can be moved or copied into the task, and is
/// called there without arguments.
template <class F>
concept TaskBody = std::constructible_from<std::decay_t<F>, F> && CalledWithoutArguments<std::decay_t<F>>;

/// A TaskBody whose result a future can hold: void, or a value that can be moved.
template <class F>
concept TaskWithResult = TaskBody<F> && Closure<std::decay_t<F>>;

/// A body of weft::moldable: it can be moved or copied into the task, and is called with a rank and a width.
template <class F>
concept TeamBody = std::constructible_from<std::decay_t<F>, F> && std::invocable<std::decay_t<F>&, int, int>;

/// The body of a loop: it is called with the index, iterator or element of each iteration (two or three indices in a
/// loop over a weft::range2d or range3d), by several workers at the same time.
template <class F, class... Index>
concept LoopBody = std::invocable<std::remove_reference_t<F>&, Index...>;

/// The body of a loop over pieces: it is called with the begin and the end of each piece, or with a piece of a
/// weft::range2d or range3d.
template <class F, class... Piece>
concept PieceBody = std::invocable<std::remove_reference_t<F>&, Piece...>;

/// The body of parallel_reduce_range(): it is called with the begin and the end of a piece and the value so far, and
/// returns the new value.
template <class F, class T, class... Piece>
concept FoldingBody = std::invocable<std::remove_reference_t<F>&, Piece..., T> &&
                      std::convertible_to<std::invoke_result_t<std::remove_reference_t<F>&, Piece..., T>, T>;

/// What a reduction combines: it is called with an index, iterator or element, and returns a value.
template <class F, class... Index>
concept Mapping = std::invocable<std::remove_reference_t<F>&, Index...> &&
                  !std::is_void_v<std::invoke_result_t<std::remove_reference_t<F>&, Index...>>;

/// Combines two values of type T, or one and an element, into a T.
template <class F, class T, class Element = T>
concept Combination = std::invocable<std::remove_reference_t<F>&, T, Element> &&
                      std::convertible_to<std::invoke_result_t<std::remove_reference_t<F>&, T, Element>, T>;

/// The order of a sort: called with two const elements, it tells whether the first one comes before the second.
template <class F, class T>
concept Ordering = std::predicate<F&, const T&, const T&>;

/// Makes the elements of a per_worker: called without arguments, it returns what a T is made of.
template <class F, class T>
concept MakesElement =
    std::invocable<F&> && (std::same_as<std::invoke_result_t<F&>, T> || // may be of a type without a move
                           std::constructible_from<T, std::invoke_result_t<F&>>);

/// Called with an element of a per_worker.
template <class F, class Element>
concept TakesElement = std::invocable<std::remove_reference_t<F>&, Element>;

} // namespace weft

/// @cond
// Ends the declaration of an overload that must not be called. Clang lists all other overloads if a deleted one is chosen,
// but not if it is unavailable; of a member, it must be no template then, or Clang says it twice.
#ifdef __clang__
#    define WEFT_REJECTED(reason) __attribute__((unavailable(reason)))
#else
#    define WEFT_REJECTED(reason) = delete
#endif

namespace weft::impl {
/// A parameter of a rejected member function.
struct any {
    any() = default;
    template <class T>
    any(T&&) noexcept; // not defined; by value, as a conversion, so every overload that fits is better
};
/// The result of a rejected call. It can be used as any value or pair, so that one error is reported, not two.
struct rejected {
    int first, second;
    template <class T>
    operator T() const; // not defined
};
/// Named in the error.
namespace not_a {
struct Closure : rejected {};
struct TaskBody : rejected {};
struct TaskWithResult : rejected {};
struct TeamBody : rejected {};
struct LoopBody : rejected {};
struct PieceBody : rejected {};
struct FoldingBody : rejected {};
struct Mapping : rejected {};
struct Combination : rejected {};
struct Ordering : rejected {};
struct MakesElement : rejected {};
struct TakesElement : rejected {};
struct Range : rejected {};
} // namespace not_a
} // namespace weft::impl
/// @endcond
