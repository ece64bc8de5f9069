#pragma once

#include <cstdint>

namespace weft::openmp {

struct region;

/// What a cancel construct may name.
enum class cancellable : std::uint8_t { parallel, work_share, group };

/// Cancels the innermost construct of that kind; false without OMP_CANCELLATION.
bool cancel(region& me, cancellable);
/// Whether it is cancelled.
bool is_cancelled(const region& me, cancellable) noexcept;

} // namespace weft::openmp
