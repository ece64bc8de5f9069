#pragma once

#include "trace/profile/construct_figures.hpp"
#include "trace/profile/lengths.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace weft::trace {

/// Which forks a profile skips: those which, with all that is inside, are short. What it notes of a fork takes longer than a
/// fork, but not if forks that take some microseconds are skipped as one.
///
/// Forks are *alike* if their second closures are of one construct and as many forks lie around them. A fork is skipped if the
/// last ones like it were short. Of those that could be skipped some are *samples*: they are followed, with all inside. How many are depends on
/// what that costs. What the skipped ones consist of is estimated from the samples, and what they add to a path from forks of the construct that
/// took about as long. Their times are measured.
class skipped_forks {
public:
    /// `ns`: how long the unit of time is.
    explicit skipped_forks(double ns);

    enum class choice : std::uint8_t { follow, sample, skip };
    /// Forks that are alike; 0: not known.
    using kind_of_fork = std::uint16_t;

    /// What to do with a fork. `found`: those that are like it.
    choice choose(std::uint32_t construct, std::uint32_t forks_around, kind_of_fork& found);
    /// A fork that was followed has ended. `time`: of all inside; `path`: what it has added to the path of its task.
    void ended(kind_of_fork, std::int64_t time, const lengths& path);

    // ---- the sample; one at a time. A fork that lasts is none: if it were skipped, it would be followed from some point on.

    void begin_sample(kind_of_fork) noexcept;
    bool has_sample() const noexcept { return sample_ != 0; }
    /// `time`: since the fork.
    bool lasts(std::int64_t time) const noexcept { return time > long_time_; }
    construct_figures& of_sample(std::uint32_t construct);
    void add_own(std::uint32_t construct, std::int64_t time) { of_sample(construct).own += time; }
    void add_task(std::uint32_t construct) {
        ++of_sample(construct).tasks;
        ++sampled_tasks_;
    }
    /// `passed`: the time of the program so far.
    void end_sample(std::int64_t time, std::int64_t passed);
    void cancel_sample() noexcept {
        sample_ = 0;
        of_sample_.clear();
    }

    // ---- the skipped fork; one at a time

    void begin_skipped(kind_of_fork) noexcept;
    std::uint32_t construct_of_skipped() const noexcept { return kinds_[skipped_].construct; }
    /// It took `time`: what it adds to the path.
    lengths skipped(std::int64_t time) noexcept;
    /// Such forks are not to be skipped for some time.
    void skipped_wrongly() noexcept;
    /// It was followed from some point on, and is not counted with those like it.
    void not_skipped() noexcept { --kinds_[skipped_].skipped; }

    /// Adds what was skipped. Returns how many tasks, and how much time.
    struct totals {
        std::uint64_t tasks = 0, forks = 0;
        std::int64_t time = 0;
    };
    totals add_to(figures_of_constructs&) const;

private:
    static constexpr std::uint32_t most_around = 64, least_short = 4, most_short = 1024;
    static constexpr std::uint32_t least_apart = 4, most_apart = 4096;

    struct share {
        std::uint32_t construct;
        construct_figures figures;
    };
    static construct_figures& figures_in(std::vector<share>&, std::uint32_t construct);
    struct alike {
        std::uint32_t construct = 0;
        std::uint32_t short_so_far = 0;           ///< in a row
        std::uint32_t short_needed = least_short; ///< until such a fork is skipped
        std::uint32_t until_sample = 0;
        std::uint64_t samples = 0, skipped = 0;
        std::int64_t sampled_time = 0, skipped_time = 0;
        std::vector<share> shares{}; ///< of the samples
    };
    struct path_time {
        std::int64_t time = 0;
        lengths path{};
    };
    static constexpr std::size_t sizes = std::numeric_limits<std::int64_t>::digits + 1;
    using by_size = std::array<path_time, sizes>; ///< by the binary digits of the time

    const std::int64_t short_time_;           ///< a fork is short up to here
    const std::int64_t long_time_;            ///< a skipped fork is followed from here on
    const double ticks_of_task_;              ///< what it takes to follow a task
    std::vector<std::uint16_t> by_construct_; ///< by forks around: numbers of kinds; 0: none yet
    std::vector<alike> kinds_;                ///< [0] is none
    std::array<std::unique_ptr<by_size>, most_constructs> paths_{}; ///< of forks that were followed
    kind_of_fork sample_ = 0, skipped_ = 0;
    std::vector<share> of_sample_;
    std::uint32_t apart_ = least_apart; ///< how many forks that are alike lie between two samples, about
    std::uint64_t sampled_tasks_ = 0;
    std::minstd_rand gaps_{1}; ///< so that samples do not keep step with the program
};

} // namespace weft::trace
