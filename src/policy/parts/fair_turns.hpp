#pragma once

#include <cstdint>

/// When a worker departs from its usual order so that nothing starves: the turns and the yields of one
/// worker.
///
/// It counts and answers; it holds no task. R1 and R2 of places.hpp are built on it, and so is each policy
/// that keeps tasks in lists of its own. Only the worker that it belongs to may touch it.
namespace weft {

enum class turn : std::uint8_t {
    usual,
    odd_fair, ///< fair turns are alternately odd and even, so that two kinds of waiting tasks can share them
    even_fair,
};

class fair_turns {
public:
    static constexpr unsigned turns_to_fair = 64;
    static constexpr unsigned yields_to_look = 16;

    /// Call once at the beginning of each search. Every turns_to_fair-th turn is fair: the search begins with
    /// tasks that its usual order puts last.
    turn begin() noexcept {
        if (++turns_ % turns_to_fair != 0) return turn::usual;
        return turns_ / turns_to_fair % 2 == 1 ? turn::odd_fair : turn::even_fair;
    }
    unsigned begun() const noexcept { return turns_; } ///< searches so far, modulo 2^32

    void yielded() noexcept { ++yields_; }
    /// The worker has had yields_to_look yields since the last look elsewhere: its tasks may be yielding to
    /// each other while the task that they wait for lies elsewhere.
    bool sees_only_yields() const noexcept { return yields_ >= yields_to_look; }
    void looked_elsewhere() noexcept { yields_ = 0; }

private:
    unsigned turns_ = 0;
    unsigned yields_ = 0;
};

} // namespace weft
