#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

/// The near-optimal static allocation of tasks of known durations to groups of unequal cores.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.4 and 5.5:
///   Theorem 5.1 and Algorithm 8.
///
/// Rows are tasks, or classes of tasks, in descending order of one task's time on the fastest cores. Columns are groups of
/// cores, the fastest first. The longest rows go to the fastest group, the next ones to the second, and so on.
/// Such a division is a vector of cuts. The span of a group is the time of its rows over the number of its cores; the
/// best division is the one whose longest span is least.
///
/// Algorithm 8 visits all C(m-1, k-1) vectors in lexicographic order, and of several that are equally good keeps the last.
/// This class finds the same vector in k m^2 steps: least_[g][i] is the least longest span of the rows from i on in the groups
/// from g on; then each cut is put as late as that allows. (200 rows and four groups have 1,293,699 vectors; eleven groups
/// have 2 * 10^16.)
///
/// It holds numbers only. One worker at a time may use it.
namespace weft {

class optimal_cut {
public:
    /// Allocates: for policy::attach.
    void attach(int most_rows, int groups) {
        assert(most_rows > 0 && groups > 0);
        most_rows_ = most_rows;
        groups_ = groups;
        const auto cells = static_cast<std::size_t>(most_rows + 1) * static_cast<std::size_t>(groups);
        sums_.assign(cells, 0);
        least_.assign(cells, 0);
        cores_.assign(index(groups), 1);
        ends_.assign(index(groups), 0);
    }

    int most_rows() const noexcept { return most_rows_; }

    /// `time(row, group)` is the time of one core of that group for all of the row, in any unit; `cores(group)` the
    /// number of cores, above 0. Gives for each group the number of the row behind its last one. If there are fewer
    /// rows than groups (the source has no rule for that), the slowest groups get none.
    template <class Time, class Cores>
    std::span<const int> find(int rows, Time&& time, Cores&& cores) noexcept {
        assert(rows <= most_rows_);
        const int used = std::min(rows, groups_);
        std::fill(ends_.begin(), ends_.end(), rows);
        if (used == 0) return ends_;
        for (int g = 0; g < used; ++g) {
            cores_[index(g)] = cores(g);
            sums_[at(g, 0)] = 0;
            for (int i = 0; i < rows; ++i) sums_[at(g, i + 1)] = sums_[at(g, i)] + time(i, g);
        }
        const auto span = [&](int g, int from, int to) {
            return (sums_[at(g, to)] - sums_[at(g, from)]) / cores_[index(g)];
        };
        for (int g = used - 1; g >= 0; --g)
            for (int i = g; i <= rows - (used - g); ++i)
                least_[at(g, i)] = g == used - 1 ? span(g, i, rows) : least_longest(g, i, rows, used, span);
        makespan_ = least_[at(0, 0)];
        for (int g = 0, from = 0; g < used - 1; from = ends_[index(g)], ++g) {
            int to = rows - (used - 1 - g); // each of the other groups gets at least one row
            while (std::max(span(g, from, to), least_[at(g + 1, to)]) > makespan_) --to;
            ends_[index(g)] = to;
        }
        return ends_;
    }

    /// The longest span of what find() has found.
    double makespan() const noexcept { return makespan_; }

private:
    template <class Span>
    double least_longest(int g, int from, int rows, int used, const Span& span) const noexcept {
        double least = std::numeric_limits<double>::infinity();
        for (int to = from + 1; to <= rows - (used - 1 - g); ++to)
            least = std::min(least, std::max(span(g, from, to), least_[at(g + 1, to)]));
        return least;
    }

    static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }
    std::size_t at(int group, int row) const noexcept {
        return index(group) * index(most_rows_ + 1) + index(row);
    }

    int most_rows_ = 0, groups_ = 0;
    double makespan_ = 0;
    std::vector<double> sums_, least_; // by group and row
    std::vector<double> cores_;        // by group
    std::vector<int> ends_;            // by group
};

/// A time below which no schedule of independent tasks ends: all cores work to the end (Theorem 5.1), and no task is faster
/// than on a fastest core. `work` and `longest` are times on a core of speed `fastest`; `speeds` has each core's speed.
inline double least_makespan(double work, double longest, std::span<const double> speeds) noexcept {
    double all = 0, fastest = 0;
    for (const double v : speeds) {
        all += v;
        fastest = std::max(fastest, v);
    }
    return std::max(work * fastest / all, longest);
}

} // namespace weft
