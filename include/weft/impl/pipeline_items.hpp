#pragma once

#include <weft/hints.hpp>
#include <weft/impl/pipeline.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

/// The types of the items of a pipeline, and where they lie.
namespace weft::impl {

/// A stage as weft::stage makes it.
template <stage_kind Kind, class F>
struct stage_of {
    using function = F;
    static constexpr stage_kind kind = Kind;

    F f;
    hints hint;
};

template <class>
inline constexpr bool is_stage = false;
template <stage_kind Kind, class F>
inline constexpr bool is_stage<stage_of<Kind, F>> = true;

/// How an item of type Item lies in its token: an lvalue reference as a pointer, anything else as itself.
template <class Item>
struct stored_item {
    using type = Item;
    static Item& of(void* at) noexcept { return *std::launder(static_cast<Item*>(at)); }
    template <class F>
    static void make(void* at, F&& f) {
        ::new (at) Item(std::forward<F>(f)()); // a result that is no reference is constructed in place
    }
    static void destroy(void* at) noexcept { std::destroy_at(std::launder(static_cast<Item*>(at))); }
};
template <class T>
struct stored_item<T&> {
    using type = T*;
    static T& of(void* at) noexcept { return **std::launder(static_cast<T**>(at)); }
    template <class F>
    static void make(void* at, F&& f) {
        ::new (at) type(std::addressof(std::forward<F>(f)()));
    }
    static void destroy(void*) noexcept {}
};
/// What the first stage returns: the item is the value in it.
template <class T>
struct first_item {};
template <class T>
struct stored_item<first_item<T>> {
    using type = std::optional<T>;
    static T& of(void* at) noexcept { return **std::launder(static_cast<type*>(at)); }
    template <class F>
    static void make(void* at, F&& f) {
        ::new (at) type(std::forward<F>(f)());
    }
    static void destroy(void* at) noexcept { std::destroy_at(std::launder(static_cast<type*>(at))); }
};

/// What a stage's function gets of an item of type Item (of the first stage: the value of the optional).
template <class Item>
struct passed_item {
    using as_rvalue = Item&&;
    using as_lvalue = Item&;
};
template <class T>
struct passed_item<T&> {
    using as_rvalue = T&;
    using as_lvalue = T&;
};
template <class T>
struct passed_item<first_item<T>> : passed_item<T> {};

template <class F, class... Arg>
struct stage_result {
    using type = void;
};
template <class F, class... Arg>
    requires std::invocable<F&, Arg...>
struct stage_result<F, Arg...> {
    using type = std::invoke_result_t<F&, Arg...>;
};
/// As it is kept for the next stage: without const, an rvalue reference as a value.
template <class R>
using kept_item =
    std::conditional_t<std::is_lvalue_reference_v<R>, R, std::remove_cv_t<std::remove_reference_t<R>>>;

/// How the stage with the function F takes an item that lies as Stored, and what the next stage gets.
template <class F, class Stored, bool Last>
struct stage_step {
    using rvalue = typename passed_item<Stored>::as_rvalue;
    using lvalue = typename passed_item<Stored>::as_lvalue;
    static constexpr bool takes_rvalue = std::invocable<F&, rvalue>,
                          takes_lvalue = std::invocable<F&, lvalue>;
    static_assert(takes_rvalue || takes_lvalue,
                  "weft::pipeline: a stage cannot be called with what the stage before it returns");
    using result = typename stage_result<F, std::conditional_t<takes_rvalue, rvalue, lvalue>>::type;
    static_assert(
        !Last || std::is_void_v<result>,
        "weft::pipeline: the last stage returns a value, which no stage takes; it must return void");
    /// The item itself goes on to the next stage.
    static constexpr bool in_place = !Last && std::is_void_v<result>;
    static_assert(!in_place || takes_lvalue,
                  "weft::pipeline: a stage in the middle that returns void passes its item on, so it must "
                  "take it by an "
                  "lvalue reference; if it is to make another item, it must return it");
    static_assert(
        takes_rvalue || !std::is_lvalue_reference_v<result>,
        "weft::pipeline: a stage that takes its item by an lvalue reference returns a reference, which could "
        "refer to that item, whose life ends with the stage; return void to pass the item on");
    static constexpr bool as_rvalue = takes_rvalue && !in_place;
    using next = std::conditional_t<in_place, Stored, kept_item<result>>;
};

/// What the first stage returns.
template <class>
struct made_by_first {
    static constexpr bool fits = false;
    using item = first_item<int>; // so that no more than one error is reported
};
template <class T>
struct made_by_first<std::optional<T>> {
    static constexpr bool fits = true;
    using item = first_item<T>;
};
template <class F>
struct first_step {
    static_assert(std::invocable<F&>, "weft::pipeline: the first stage cannot be called without arguments");
    using made = made_by_first<std::remove_cv_t<typename stage_result<F>::type>>;
    static_assert(
        made::fits || !std::invocable<F&>,
        "weft::pipeline: the first stage must return std::optional<T>; std::nullopt ends the input");
    using next = typename made::item;
};

/// Stage K of a pipeline, and the item before it. A token has two places, and an item that a stage makes lies in the other
/// place than the item that it is made of.
template <std::size_t K, class... Stages>
struct stage_at;
template <std::size_t K, class... Stages>
struct item_before {
    using type = typename stage_at<K - 1, Stages...>::next;
    using stored = stored_item<type>;
    static constexpr bool second_place = stage_at<K - 1, Stages...>::second_place;
};
template <std::size_t K, class... Stages>
using function_at = typename std::tuple_element_t<K, std::tuple<Stages...>>::function;
template <class... Stages>
struct stage_at<0, Stages...> : first_step<function_at<0, Stages...>> {
    static constexpr bool second_place = false;
};
template <std::size_t K, class... Stages>
struct stage_at : stage_step<function_at<K, Stages...>, typename item_before<K, Stages...>::type,
                             K + 1 == sizeof...(Stages)> {
    static constexpr bool second_place = item_before<K, Stages...>::second_place != !stage_at::in_place;
};

/// The memory of a token.
template <class Indices, class... Stages>
struct token_layout;
template <std::size_t... K, class... Stages>
struct token_layout<std::index_sequence<K...>, Stages...> {
    template <std::size_t N>
    using type = typename item_before<N + 1, Stages...>::stored::type;
    static constexpr std::size_t align = std::max({alignof(type<K>)...});
    static constexpr std::size_t place_bytes = (std::max({sizeof(type<K>)...}) + align - 1) / align * align;
};

/// The stages of a pipeline, as what is done with the memory of a token.
template <class... Stages>
struct stage_chain {
    static constexpr std::size_t count = sizeof...(Stages);
    static_assert(
        (is_stage<Stages> && ...),
        "weft::pipeline: each argument is made by weft::stage::parallel, serial or serial_in_order");
    static_assert(count >= 2,
                  "weft::pipeline: a pipeline has at least two stages: one makes items, one takes them");

    using layout = token_layout<std::make_index_sequence<count - 1>, Stages...>;
    static constexpr std::size_t align = layout::align, bytes = 2 * layout::place_bytes;

    template <std::size_t K>
    using before = item_before<K, Stages...>;

    static void* place(void* items, bool second) noexcept {
        return static_cast<std::byte*>(items) + (second ? layout::place_bytes : 0);
    }

    /// Calls the function of stage K with the item of a token, and puts the result there.
    template <std::size_t K>
    static bool run(function_at<K, Stages...>& f, void* items) {
        if constexpr (K == 0) {
            using made = typename before<1>::stored;
            void* const at = place(items, false);
            made::make(at, [&]() -> decltype(auto) { return std::invoke(f); });
            if (std::launder(static_cast<typename made::type*>(at))->has_value()) return true;
            made::destroy(at);
            return false;
        } else {
            using step = stage_at<K, Stages...>;
            using item = typename before<K>::stored;
            void* const from = place(items, before<K>::second_place);
            const auto call = [&]() -> decltype(auto) {
                if constexpr (step::as_rvalue)
                    return std::invoke(f, static_cast<typename step::rvalue>(item::of(from)));
                else
                    return std::invoke(f, static_cast<typename step::lvalue>(item::of(from)));
            };
            if constexpr (std::is_void_v<typename step::result>)
                call();
            else
                stored_item<typename step::next>::make(place(items, step::second_place), call);
            if constexpr (!step::in_place) item::destroy(from);
            return true;
        }
    }

    template <std::size_t K>
    static constexpr auto drop_before() noexcept -> void (*)(void*) noexcept {
        if constexpr (K == 0)
            return nullptr;
        else
            return [](void* items) noexcept {
                before<K>::stored::destroy(place(items, before<K>::second_place));
            };
    }
};

} // namespace weft::impl
