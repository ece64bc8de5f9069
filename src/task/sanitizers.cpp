#include "task/sanitizers.hpp"

#include "task/stack_switch.hpp"

namespace weft::sanitizer {

constinit std::atomic<bool> hears_of_switches{false};

void begin_switches() noexcept {
    if (!is_instrumented && (has_tsan() || has_asan()))
        hears_of_switches.store(true, std::memory_order_relaxed);
}

void begin_fiber(stack_state& s) noexcept {
    if (has_tsan()) s.tsan_fiber = __tsan_create_fiber(0);
}

void end_fiber(stack_state& s) noexcept {
    if (has_tsan()) __tsan_destroy_fiber(s.tsan_fiber);
    if (!s.asan_fake_stack) return;
    // AddressSanitizer frees a fake stack only when the code on it switches away for good: the calling thread takes it
    // for a moment and leaves it.
    void* own = nullptr;
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_start_switch_fiber(&own, nullptr, 0);
    __sanitizer_finish_switch_fiber(s.asan_fake_stack, &bottom, &bytes);
    __sanitizer_start_switch_fiber(nullptr, bottom, bytes);
    __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
    s.asan_fake_stack = nullptr;
}

void announce_switch(fiber& from, fiber& to) noexcept {
    leave(from, to);
    if (has_tsan()) deliver_signals();
    arrive(from, to);
}

} // namespace weft::sanitizer
