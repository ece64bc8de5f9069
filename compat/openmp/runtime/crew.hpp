#pragma once

#include <memory>
#include <vector>

namespace weft::openmp {

struct launch;
struct team;

/// Kernel threads for threads of the teams that begin on one seat: those that must not share a worker with another one. The number of a
/// thread is that in its team, so it finds its thread-local data in the next region. Only the holder of the seat calls it.
class crew {
public:
    crew();
    ~crew(); ///< waits for threads that are about to be idle; none runs a launch
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    /// Runs the launch of thread `number` of a team, on that one's place if it has any. Ends the process if the system refuses a thread.
    void start(const team&, unsigned number);

private:
    struct member;
    std::vector<std::unique_ptr<member>> members_; ///< by number; null: not needed yet
};

/// Whether the caller is a thread of a crew.
bool is_in_crew() noexcept;

/// The library is not unloaded any more: a thread of its own runs its code.
void keep_library() noexcept;

/// How many of the threads 1, 2, ... of a team that begins become tasks; those behind them need kernel threads of their own. `first`: the worker of
/// thread 1 of a team outside of any region, at which the tasks start; a team inside has none.
unsigned tasks_of(const team&, bool is_outermost, unsigned first);

} // namespace weft::openmp
