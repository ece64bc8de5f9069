// The widest vectors that pay, where the rest of a program is compiled for any processor of its kind.
#pragma once

namespace examples {

#if defined(__x86_64__)
template <class Body>
[[gnu::target("avx2"), gnu::noinline]] void on_wide_vectors(const Body& body) {
    body();
}
#endif

// Calls body(), which must be inlined always, as code for 256-bit vectors if the processor has them (AVX2).
template <class Body>
[[gnu::always_inline]] inline void with_wide_vectors(const Body& body) {
#if defined(__x86_64__)
    static const bool has_them = __builtin_cpu_supports("avx2") != 0;
    if (has_them) return on_wide_vectors(body);
#endif
    body();
}

} // namespace examples
