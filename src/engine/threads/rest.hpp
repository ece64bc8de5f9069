#pragma once

#include <atomic>

namespace weft::engine {

/// A thread sleeps at its parker, unless it is needed, until it is woken. A thread that needs it writes what `is_needed()`
/// reads, passes a fence, and wakes the parker (S7 of idle/README.md).
template <class Sync, class Parker, class IsNeeded>
void rest_unless(Parker& parker, IsNeeded&& is_needed) {
    parker.arm();
    Sync::fence(std::memory_order_seq_cst); // pairs with that of the thread that needs this one (S7)
    if (!is_needed()) parker.sleep();
    parker.disarm();
}

} // namespace weft::engine
