// For runtimes whose forks return nothing.
#pragma once

#include <type_traits>
#include <utility>

namespace peers {

/// Has `both` run two closures, which call `f(here)` and `g(here)`, and returns what those did: a pair, or
/// nothing if they return nothing.
template <class Strand, class F, class G, class Both>
auto results_of(const Strand& here, F& f, G& g, Both&& both) {
    using A = std::invoke_result_t<F&, Strand>;
    using B = std::invoke_result_t<G&, Strand>;
    if constexpr (std::is_void_v<A>) {
        both([&] { f(here); }, [&] { g(here); });
    } else {
        A a;
        B b;
        both([&] { a = f(here); }, [&] { b = g(here); });
        return std::pair<A, B>(a, b);
    }
}

} // namespace peers
