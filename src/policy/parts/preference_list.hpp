#pragma once

/// In which order a core looks at the groups of cores, its own group first.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.8 and table 5.5:
///   help the weaker first.
///
/// Groups have numbers from 0, the fastest first. A core of group i looks at i, i+1, ..., k-1, and then at i-1, i-2, ..., 0:
/// after its own group at the slower ones, and only then at the faster ones, the nearest first.
namespace weft {

/// The n-th group of the list of a core of group `own`, of `groups`.
constexpr int preferred_group(int own, int groups, int n) noexcept {
    return n < groups - own ? own + n : groups - 1 - n;
}

} // namespace weft
