#pragma once

#include <atomic>
#include <cstdint>

namespace weft::engine {

/// Where a kernel thread stops until it gets a worker: README.md, "A worker changes its kernel thread". The thread that wakes it
/// writes before what it is to do; the thread that was woken takes the wake-up back.
///
///   word  | written by
///   0     | the thread itself, after each wake-up
///   1     | the thread that wakes it
///
/// A template, so that the model check runs the same steps.
template <class Sync>
class stop_word {
public:
    using word = typename Sync::template atomic<std::uint32_t>;

    /// `wait(word)` may return early; it must return if the word is 1.
    template <class Wait>
    void stop(Wait&& wait) noexcept {
        while (word_.load(std::memory_order_acquire) == 0) wait(word_); // pairs with the store in wake() (Y2)
        word_.store(0, std::memory_order_relaxed); // before the thread may be woken again (Y3)
    }
    /// From the store on the thread may run, and end. `wake(word)` uses the address only.
    template <class Wake>
    void wake(Wake&& wake) noexcept {
        word_.store(1, std::memory_order_release); // pairs with the load in stop() (Y2)
        wake(word_);
    }

private:
    word word_{0};
};

} // namespace weft::engine
