#pragma once

#include <cstdint>

namespace weft {

/// The modes of floating-point arithmetic: rounding, which exceptions trap, whether denormals are flushed. They belong to the
/// code on a stack, as in the serial program, so each fiber has its own. A child that starts on top of its parent starts
/// with the parent's; every other task starts with those of the thread that made the runtime.
///
/// Some processors take 10 ns to read MXCSR (AMD EPYC). So it is read only when the x87 control word has changed, which is
/// fast to read and which std::fesetround and std::fesetenv write too. Code that writes to MXCSR alone, like
/// _MM_SET_FLUSH_ZERO_MODE, changes it for the thread.
class floating_point_modes {
public:
    static floating_point_modes of_this_thread() noexcept {
        floating_point_modes now;
        now.update();
        return now;
    }

    /// Takes over what the code that has run with these modes has changed.
    [[gnu::always_inline]] void update() noexcept {
#if defined(__x86_64__)
        std::uint16_t word = 0;
        asm volatile("fnstcw %0" : "=m"(word));
        if (word == x87_) [[likely]]
            return;
        x87_ = word;
        asm volatile("stmxcsr %0" : "=m"(mxcsr_));
#endif
    }

    /// Makes these the thread's modes, which are `now`.
    [[gnu::always_inline]] void replace(const floating_point_modes& now) const noexcept {
#if defined(__x86_64__)
        if (x87_ == now.x87_) [[likely]]
            return;
        asm volatile("fldcw %0" : : "m"(x87_));
        asm volatile("ldmxcsr %0" : : "m"(mxcsr_));
#else
        static_cast<void>(now);
#endif
    }

private:
#if defined(__x86_64__)
    std::uint16_t x87_ = 0; // no control word is 0: the first update() reads both
    std::uint32_t mxcsr_ = 0;
#endif
};

} // namespace weft
