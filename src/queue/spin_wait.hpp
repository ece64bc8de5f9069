// How a thread waits for a few instructions of another thread. That thread may have been descheduled, so the waiting one
// yields its core after some looks; and if it may run only where no thread of normal priority does (a guest on a borrowed
// core: Z2 of share/README.md), yielding helps nothing: after some more looks the waiting thread naps.
#pragma once

#include "queue/sync.hpp"

namespace weft::queue {

template <class Sync = std_sync>
class spin_wait {
public:
    static constexpr unsigned k_looks_before_yield = 128;
    static constexpr unsigned k_yields_before_nap = 64;

    /// Between two looks.
    void once() noexcept {
        if (++looks_ < k_looks_before_yield) {
            Sync::pause();
        } else if (yields_ < k_yields_before_nap) {
            ++yields_;
            looks_ = 0;
            Sync::yield();
        } else {
            looks_ = 0;
            Sync::nap();
        }
    }

private:
    unsigned looks_ = 0, yields_ = 0;
};

} // namespace weft::queue
