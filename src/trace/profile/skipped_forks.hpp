#pragma once

#include "trace/profile/lengths.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace weft::trace {

/// Constructs that are told apart. The tasks of all others count as one construct.
inline constexpr std::uint32_t most_constructs = 256;

/// What the tasks of one construct came to. Times are in the unit of the events.
struct construct_figures {
    std::uint64_t tasks = 0;
    std::int64_t own = 0, longest = 0; ///< in the code of these tasks themselves; the longest piece
    /// Of the tasks that have no task of the same construct around them: their work and spans, tasks inside them included.
    std::int64_t work = 0, span = 0;
};

using figures_of_constructs = std::array<construct_figures, most_constructs>;

/// Which forks a profile skips: those which, with all that is inside, are short. What it notes of a fork takes longer than a
/// fork, but not if forks that take some microseconds are skipped as one.
///
/// Forks are *alike* if their second closures are of one construct and as many forks lie around them. A fork is skipped if the
/// last ones like it were short. Of these one in `samples_apart` is a *sample*: it is followed, with all inside. What the skipped ones
/// consist of is estimated from the samples; their times are measured.
class skipped_forks {
public:
    /// `ns`: how long the unit of time is.
    explicit skipped_forks(double ns);

    enum class choice : std::uint8_t { follow, sample, skip };
    /// Forks that are alike; 0: not known.
    using kind_of_fork = std::uint16_t;

    /// What to do with a fork. `found`: those that are like it.
    choice choose(std::uint32_t construct, std::uint32_t forks_around, kind_of_fork& found);
    /// A fork that was followed has ended. `time`: of all inside.
    void ended(kind_of_fork, std::int64_t time) noexcept;

    // ---- the sample; one at a time

    void begin_sample(kind_of_fork);
    bool has_sample() const noexcept { return sample_ != 0; }
    void add_own(std::uint32_t construct, std::int64_t time) { of_sample(construct).own += time; }
    construct_figures& of_sample(std::uint32_t construct);
    /// `path`: what the fork has added to the path of its task.
    void end_sample(std::int64_t time, const lengths& path) noexcept;
    void cancel_sample() noexcept { sample_ = 0; }

    // ---- the skipped fork; one at a time

    void begin_skipped(kind_of_fork) noexcept;
    std::uint32_t construct_of_skipped() const noexcept { return kinds_[skipped_].construct; }
    /// A closure of it took `time`: what it adds to the path.
    lengths skipped(std::int64_t time) noexcept;
    /// Such forks are not to be skipped for some time.
    void skipped_in_vain() noexcept;

    /// Adds what was skipped. Returns how many tasks, and how much time.
    struct totals {
        std::uint64_t tasks = 0, forks = 0;
        std::int64_t time = 0;
    };
    totals add_to(figures_of_constructs&) const;

private:
    static constexpr std::uint32_t most_around = 64, samples_apart = 128, first_samples_apart = 4,
                                   least_short = 4, most_short = 1024;

    struct share {
        std::uint32_t construct;
        construct_figures figures;
    };
    struct alike {
        std::uint32_t construct = 0;
        std::uint32_t short_so_far = 0;           ///< in a row
        std::uint32_t short_needed = least_short; ///< until such a fork is skipped
        std::uint32_t until_sample = 0, apart = first_samples_apart;
        std::uint64_t samples = 0, skipped = 0;
        std::int64_t sampled_time = 0, skipped_time = 0;
        lengths sampled_path{};
        std::vector<share> shares{}; ///< of the samples
    };

    void not_short(alike&) noexcept;

    const std::int64_t short_time_;           ///< a fork is short up to here
    std::vector<std::uint16_t> by_construct_; ///< by forks around: numbers of kinds; 0: none yet
    std::vector<alike> kinds_;                ///< [0] is none
    kind_of_fork sample_ = 0, skipped_ = 0;
};

} // namespace weft::trace
