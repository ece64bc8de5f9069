// What a workload asks of a runtime's strand.
#pragma once

#include <type_traits>

namespace peers {

template <class Strand>
concept forks = requires(Strand here) { here.fork([](Strand) {}, [](Strand) {}); };

template <class Strand>
concept groups = requires { typename Strand::group; };

template <class Strand>
concept loops = requires(Strand here) { here.loop(0, 1, [](int) {}); };

template <class Strand>
concept sorts = requires(Strand here, int* at) { here.sort(at, at); };

} // namespace peers
