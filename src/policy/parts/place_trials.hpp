#pragma once

#include "task/task.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

/// Which of a few candidates is the fastest at one place of a program, as its runs tell one after the other: for `auto`.
///
/// A run of a place may have another input than the one before it, so times of different candidates are compared in pairs that
/// lie side by side: a run of the candidate between two runs of the best one so far, and the ratio of its time to the mean of
/// theirs. Then a slow change of the input, or of the machine, cancels. The first run after each change of candidates is not compared: it finds
/// the caches as the other candidate has left them, and policies that bring data back to the same caches gain from the second
/// run on. The logarithms of these ratios have a mean and, by
/// Student's t, a bound on each side. A candidate
///
/// - is dropped when it was far slower once, or is slower by the bound, or cannot gain `least_gain` by the bound, or after
///   `most_trials` comparisons that decide nothing;
/// - becomes the best when it gains `least_gain` on average and is faster by the bound. The others' ratios then are to the new
///   best.
///
/// *Bounded regret.* What a trial takes longer than the two runs beside it is its excess. A trial begins only while the sum of all
/// excesses, with what the next one is expected to add, is at most a share of the time of all runs of the place. Of a candidate that has
/// not been tried nothing is expected, so the sum exceeds the share by the excess of one trial at most: of its two runs, or of
/// the first one alone if that took `hopeless` times as long. No trial is ended within a run.
///
/// *Drift.* When all candidates are dropped the best one runs alone. After `first_rest` runs all others are open again, and
/// each time after twice as many, up to `longest_rest`; or as soon as the times of the best one have moved to another level.
namespace weft {

struct candidate_record { ///< of its ratios to the best one
    std::uint32_t count = 0;
    bool is_open = true; ///< to be tried
    double mean = 0;     ///< of the logarithms
    double squares = 0;  ///< sum of the squared deviations from it
};

/// What is kept of a place. Plain data, so that it can be written to a file.
struct place_record {
    static constexpr std::size_t most_candidates = 8;
    static constexpr std::uint32_t no_run =
        most_candidates; ///< none since the process began, or since one without a time
    static constexpr std::uint32_t any_run =
        most_candidates + 1; ///< processes have a single run each: all are alike
    std::uint64_t runs = 0;  ///< with a time
    std::uint64_t compared = 0;
    time_ns total = 0; ///< of their times
    time_ns excess = 0;
    time_ns before =
        0;             ///< the last run of the best one; 0: there is none that a trial could be compared with
    time_ns trial = 0; ///< a run of `tried` that waits for the run behind it; 0: none
    std::uint64_t rest = 0;       ///< so many runs after the last decision all are opened again
    std::uint64_t decided_at = 0; ///< the number of runs then
    double level = 0;             ///< logarithm of the time of the best one, smoothed
    double decided_level = 0;     ///< the same when the last candidate was dropped
    std::uint32_t best = 0, tried = 0;
    std::uint32_t last = no_run; ///< the candidate of the last run, no_run or any_run
    bool is_warm = false;        ///< the last run had the same candidate as the one before it
    std::array<candidate_record, most_candidates> of{};
};

class place_trials {
public:
    static constexpr std::uint32_t least_trials = 2, most_trials = 8;
    static constexpr double least_gain = 0.01;
    static constexpr double far_slower = 1.5; ///< one comparison is enough
    static constexpr double hopeless = 3;     ///< the first run of a trial is enough
    static constexpr std::uint64_t first_rest = 64, longest_rest = 4096;
    static constexpr double another_level =
        1.5; ///< the ratio of times at which the best one is no longer what it was

    /// `share`: of the time of all runs, that trials may lose.
    place_trials(place_record& of, std::uint32_t candidates, double share)
        : r_(of)
        , count_(candidates)
        , share_(share) {}

    /// The candidate of the next run.
    std::uint32_t next() const {
        if (r_.last < count_ && !r_.is_warm) return r_.of[r_.last].is_open ? r_.last : r_.best; // once more
        if (r_.before == 0 || r_.trial != 0) return r_.best; // it is what a trial is compared with
        std::uint32_t found = r_.best;
        for (std::uint32_t c = 0; c < count_; ++c) {
            if (c == r_.best || !r_.of[c].is_open || !fits(c)) continue;
            if (found == r_.best || r_.of[c].count < r_.of[found].count) found = c;
        }
        return found;
    }

    /// The run of `c` took so long.
    void took(std::uint32_t c, time_ns ns) {
        ns = std::max<time_ns>(ns, 1);
        ++r_.runs;
        r_.total += ns;
        r_.is_warm = r_.last == place_record::any_run || r_.last == c;
        r_.last = c;
        if (!r_.is_warm) return took_cold(c, ns);
        if (c != r_.best) {
            r_.tried = c;
            r_.trial = ns;
            return;
        }
        const double now = std::log(static_cast<double>(ns));
        r_.level = r_.level == 0 ? now : r_.level + (now - r_.level) * smoothing;
        if (r_.trial != 0 && compare(ns)) return; // the next run is the new best one's first
        r_.before = ns;
        reopen_if_due();
    }

    /// A run whose time says nothing: what lies beside it is not compared.
    void missed() {
        r_.before = r_.trial = 0;
        r_.last = place_record::no_run;
        r_.is_warm = false;
    }

    bool is_decided() const { return open() == 0; }

private:
    static constexpr double smoothing = 0.125;

    /// The first run after a change.
    void took_cold(std::uint32_t c, time_ns ns) {
        if (r_.before != 0)
            r_.excess += std::max<time_ns>(0, ns - r_.before);
        else if (c == r_.best)
            r_.before = ns; // all that is known, in a process with a single run
        if (c != r_.best && static_cast<double>(ns) > hopeless * static_cast<double>(r_.before)) drop(c);
    }

    std::uint32_t open() const {
        std::uint32_t n = 0;
        for (std::uint32_t c = 0; c < count_; ++c) n += c != r_.best && r_.of[c].is_open ? 1 : 0;
        return n;
    }

    bool fits(std::uint32_t c) const {
        const candidate_record& k = r_.of[c];
        const double expected =
            k.count == 0 ? 0 : std::max(0.0, std::exp(k.mean) - 1) * static_cast<double>(r_.before);
        return static_cast<double>(r_.excess) + 2 * expected <= share_ * static_cast<double>(r_.total);
    }

    /// The upper 2.5 % point of Student's t with that many degrees of freedom.
    static double student(std::uint32_t degrees) {
        constexpr std::array<double, 8> points = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306};
        return points[std::min<std::size_t>(degrees, points.size()) - 1];
    }

    /// Whether another candidate is the best one now.
    bool compare(time_ns after) {
        const double beside = (static_cast<double>(r_.before) + static_cast<double>(after)) / 2;
        const double ratio = static_cast<double>(r_.trial) / beside;
        r_.excess += std::max<time_ns>(0, r_.trial - static_cast<time_ns>(beside));
        r_.trial = 0;
        ++r_.compared;
        candidate_record& k = r_.of[r_.tried];
        ++k.count;
        const double deviation = std::log(ratio) - k.mean;
        k.mean += deviation / k.count;
        k.squares += deviation * (std::log(ratio) - k.mean);
        return decide(r_.tried);
    }

    bool decide(std::uint32_t c) {
        candidate_record& k = r_.of[c];
        const double gain = std::log(1 - least_gain);
        if (k.count < least_trials) {
            if (k.mean > std::log(far_slower)) drop(c);
            return false;
        }
        const double half = student(k.count - 1) * std::sqrt(k.squares / (k.count - 1) / k.count);
        if (k.mean < gain && k.mean + half < 0) {
            become_best(c);
            return true;
        }
        if (k.mean - half > gain || k.count >= most_trials) drop(c);
        return false;
    }

    void drop(std::uint32_t c) {
        r_.of[c].is_open = false;
        if (open() == 0) rest();
    }

    void become_best(std::uint32_t c) {
        const double by = r_.of[c].mean;
        const candidate_record old{
            .count = r_.of[c].count, .is_open = false, .mean = -by, .squares = r_.of[c].squares};
        for (std::uint32_t other = 0; other < count_; ++other)
            if (r_.of[other].count > 0) r_.of[other].mean -= by;
        r_.of[r_.best] = old;
        r_.of[c] = {.count = 0, .is_open = true};
        r_.best = c;
        r_.level = 0;
        r_.before = 0;
        r_.rest = 0;
        if (open() == 0) rest();
    }

    void rest() {
        r_.rest = r_.rest == 0 ? first_rest : std::min(2 * r_.rest, longest_rest);
        r_.decided_at = r_.runs;
        r_.decided_level = r_.level;
    }

    void reopen_if_due() {
        if (count_ < 2 || open() > 0) return;
        if (r_.decided_level == 0)
            r_.decided_level = r_.level; // decided by the first comparison of a new best one
        const bool has_moved = std::abs(r_.level - r_.decided_level) > std::log(another_level);
        if (!has_moved && r_.runs < r_.decided_at + r_.rest) return;
        if (has_moved) r_.rest = 0;
        for (std::uint32_t c = 0; c < count_; ++c) r_.of[c] = {};
    }

    place_record& r_;
    const std::uint32_t count_;
    const double share_;
};

} // namespace weft
