// Runtimes as the benchmarks use them.
#pragma once

#include <weft/weft.hpp>

#include <string>

namespace bench {

inline weft::runtime_options with_workers(int n, const std::string& policy = "steal") {
    weft::runtime_options o;
    o.workers = n;
    o.policy = policy;
    return o;
}

/// One worker and two. The runtime that has no run sleeps.
struct runtime_pair {
    weft::runtime one{with_workers(1)}, two{with_workers(2)};
};

} // namespace bench
