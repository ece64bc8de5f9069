#pragma once

#include "trace/profile/burdened_paths.hpp"
#include "trace/profile/construct_figures.hpp"
#include "trace/profile/running.hpp"
#include "trace/profile/skipped_forks.hpp"
#include "trace/profile/tasks.hpp"
#include "trace/write/event_sink.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace weft::trace {

/// In place of a construct: the runtime's own tasks, all constructs that found no room, the program outside of its runs.
inline constexpr std::uint32_t of_the_runtime = 0, of_others = most_constructs - 2,
                               outside_of_runs = most_constructs - 1;

/// What a profile came to.
struct profiled_program {
    std::uint64_t tasks = 0;
    std::int64_t work = 0; ///< of all tasks, and of the program outside of its runs
    std::int64_t outside = 0;
    lengths span{};
    bool is_complete = true; ///< false: a run had not ended, or there was no memory
    figures_of_constructs constructs{};
    skipped_forks::totals skipped{}; ///< what is estimated, in the figures above
    std::vector<path_share> path{};  ///< what the longest path consists of
};

/// Work and span of a program, by construct, computed from the events of its only worker while they happen. It takes memory
/// for tasks that have not ended, and for constructs; it keeps no events.
///
/// The span is the longest path through forks, joins, groups, the edges of graphs and the waits for what other tasks release,
/// as in trace/walk. What comes after a run comes after all that has run. Short forks are skipped, and estimated (skipped_forks.hpp).
///
/// Source: He, Leiserson, Leiserson, "The Cilkview scalability analyzer", SPAA 2010, from which a path under a burden differs
/// in one respect: where it takes less time to run two closures one after the other than to bring one of them to another
/// worker, the path is that of the former.
class profile final : public event_sink {
public:
    /// `began`: when the program began, outside of its runs; empty: what it does there takes no time. `ns`: how long the unit
    /// of the events' times is. `cost`: how much of each piece is the profile's own.
    profile(std::optional<std::uint64_t> began, double ns, std::int64_t cost = 0);

    std::uint32_t new_task() noexcept override;
    void take(const record&) noexcept override;
    void take_outside(const record&) noexcept override;
    bool skips(std::uint32_t name) noexcept override;
    void skipped_begins(std::uint64_t at) noexcept override;
    void skipped_ends(std::uint64_t at, bool is_long) noexcept override;
    void skipped_is_followed(std::uint64_t at) noexcept override;

    /// The program has come to an end. The worker takes no event any more.
    profiled_program finish(std::uint64_t at);

private:
    struct children { ///< of a group, or of a run of a graph
        std::int64_t open = 0;
        burdened_path longest{};
        lengths serial{};                        ///< the sum of their own paths
        std::uint32_t owner = 0, owner_life = 0; ///< the task that runs the graph
        std::uint64_t first = 0, count = 0;      ///< its tasks at the beginning
        std::uint64_t ended = 0;                 ///< of these
    };

    bool chooses_to_skip(std::uint32_t construct);
    void pass_skipped();
    void take_common();
    void process(const record&);
    void pass(std::uint64_t at);
    void spawn(const record&, std::uint32_t parent);
    void leave_outside(std::uint64_t at);
    void begin(const record&);
    void end(const record&);
    void count(const profiled_task&);
    void cancel_sample() noexcept;
    void lead_on(std::uint32_t row, std::uint32_t top);
    void end_in_graph(std::uint32_t row, std::uint32_t top);
    void ended_in(children&, std::uint32_t row);
    void edge(const record&);
    void release_successors(std::uint32_t number, const burdened_path& end);
    void resume(std::uint32_t row);
    void waited(const record&);
    void join_fork(std::uint32_t parent, std::uint32_t number);
    lengths alone(const profiled_task&) const noexcept;
    void join(burdened_path& of, const burdened_path& other, const lengths& serial);
    void join_children(std::uint32_t parent, children&);
    void forget(std::uint32_t number);
    void drop_unbegun(std::uint32_t parent, std::uint32_t until);
    children& group_at(std::uint64_t address);
    bool is_alive(std::uint32_t row, std::uint32_t life) const noexcept {
        return row && tasks_[row].life == life;
    }

    const bool counts_outside_;
    const std::int64_t cost_;
    lengths burden_{};
    profiled_program so_far_{};
    burdened_paths paths_;
    profiled_tasks tasks_;
    running_tasks running_;
    skipped_forks skipped_;
    std::int64_t unpassed_ = 0; ///< of the skipped fork: what pass_skipped() is to account for
    bool is_second_ = false;    ///< the second closure of the skipped fork is to end next
    skipped_forks::kind_of_fork next_fork_ =
        0; ///< chosen for the fork whose spawn comes next: to be followed
    bool next_is_sample_ = false;
    std::uint32_t forks_ = 0;  ///< rows of forks
    std::uint32_t sample_ = 0; ///< the row of the fork that is a sample
    std::int64_t passed_ = 0;  ///< of all pieces so far, and outside of runs
    std::uint64_t since_ = 0;  ///< the worker's time is accounted for up to here

    std::unordered_map<std::uint64_t, children> groups_, graphs_; ///< by address; by the number of the run
    std::uint64_t last_group_ = 0;
    children* last_children_ = nullptr;                                        ///< those of last_group_
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> successors_; ///< by number
    std::unordered_map<std::uint32_t, burdened_path>
        released_; ///< by suspended task: the longest path to its release

    /// A path has gone from one task to another that waited for it. From then on the path to the end of a task may be longer
    /// than all that the task and its children have done.
    bool has_crossings_ = false;

    burdened_path outside_{}; ///< the longest path to where the program has come outside of its runs
    std::uint64_t outside_since_;
    int open_roots_ = 0;

    std::mutex common_lock_;
    std::vector<record> common_{};        ///< events of other threads, under common_lock_
    std::atomic<bool> has_common_{false}; ///< relaxed: what it tells of is read under the lock
};

} // namespace weft::trace
