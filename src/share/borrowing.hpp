#pragma once

#include <cstdint>
#include <vector>

// When a program borrows cores and when it gives them back: pure functions of what it sees once a tick. Not here: the board
// (lending_board.hpp), and the threads on the cores (engine/threads/core_lending.hpp).
namespace weft::share {

/// Whether a core of another program is worth borrowing. A program that wakes and sleeps all the time lends its cores for
/// moments only, and each return interrupts a task of the borrower: the more often a core was taken back, the longer it
/// must have been lent without a break.
class lent_record {
public:
    static constexpr int longest_wait = 256; ///< ticks

    /// Once a tick. `lender`, `generation`: of the word by which it is lent; lender 0: it is not.
    void see(std::int64_t lender, std::uint64_t generation) noexcept;
    /// It is lent, and has been for long enough.
    bool is_steady() const noexcept { return lent_for_ > wait_; }
    void was_lost() noexcept;   ///< the owner took it back, or others used it
    void was_of_use() noexcept; ///< once a tick in which a task ran on it

private:
    std::int64_t lender_ = 0;
    std::uint64_t generation_ = 0;
    int lent_for_ = 0, wait_ = 1; ///< ticks
    int used_for_ = 0;            ///< ticks since wait_ was last made shorter or longer
};

/// What the workers of a program do at a tick.
struct crew_sight {
    int idle_homes = 0;  ///< workers on own cores that run no task
    int guests = 0;      ///< workers on borrowed cores
    int idle_guests = 0; ///< of these, that run no task
};

/// How many cores a program borrows. No policy tells how much work there is, so it tries: while all workers work it takes as
/// many again as it has, and what finds no work is given back. A try without success is made less and less often.
class appetite {
public:
    static constexpr int longest_pause = 64; ///< ticks

    /// Once a tick; the number of cores that are wanted.
    int want(const crew_sight&) noexcept;

private:
    int pause_ = 0, next_pause_ = 1; ///< ticks
    bool has_just_grown_ = false;
};

} // namespace weft::share
