#include "share/placements.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>

namespace weft::share {

namespace {

std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

// Programs a domain when the score is the best: as many full domains as there can be, and none empty.
//
// Why this is best: count the score by gaps between neighbouring ranks. Of the j highest rates, a on a domain of s
// programs, the gap below them counts a * (s - a) times there. Take domains of s and t programs, s >= t, with a and b of
// the j. Moving one place from the second to the first changes the count by a - b if a low program moves, and by
// (s - a) - (t - b) if a high one moves. One of the two is not negative, since s >= t.
std::vector<int> fullest_sizes(int programs, int domains) {
    std::vector<int> sizes(index(domains), 0);
    const int most = most_on_a_domain(programs, domains);
    int left = programs;
    for (int d = 0; d < domains && left > 0; ++d) {
        const int others = std::min(domains - d - 1, left - 1); // one program for each of the others
        sizes[index(d)] = std::min(most, left - others);
        left -= sizes[index(d)];
    }
    return sizes;
}

// A place on a domain of s programs: the rate of the i-th highest there counts s - 1 - 2 i times in the score, since it is
// the greater one of s - 1 - i pairs and the lesser one of i.
struct seat {
    int factor;
    int domain;
};

// Highest factor first. The sum of the rates times the factors is greatest if both are in the same order (rearrangement
// inequality), and then each domain has its own rates in the order of its own factors, so that the sum is its score. With k
// programs on every domain, the seats of one factor are a block of as many programs as there are domains.
std::vector<seat> seats(int programs, int domains) {
    std::vector<seat> all;
    const std::vector<int> sizes = fullest_sizes(programs, domains);
    for (int d = 0; d < domains; ++d)
        for (int i = 0; i < sizes[index(d)]; ++i) all.push_back({sizes[index(d)] - 1 - 2 * i, d});
    std::stable_sort(all.begin(), all.end(), [](seat a, seat b) { return a.factor > b.factor; });
    return all;
}

// The same placement with the domains numbered in the order of their first programs.
domains_of renamed(const domains_of& of, int domains) {
    std::vector<int> names(index(domains), -1);
    domains_of answer(of);
    int next = 0;
    for (int& d : answer) {
        int& name = names[index(d)];
        if (name < 0) name = next++;
        d = name;
    }
    return answer;
}

// Within each block, the highest rate goes to the domain with the least sum so far. Of two programs a domain this pairs the
// highest with the lowest, which is the least spread.
domains_of by_blocks(const rates& of, int domains) {
    const int programs = static_cast<int>(of.size());
    std::vector<int> ranks(index(programs));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return of[index(a)] > of[index(b)]; });
    std::vector<seat> all = seats(programs, domains);
    std::vector<std::int64_t> sums(index(domains), 0);
    domains_of answer(index(programs));
    for (auto block = all.begin(); block != all.end();) {
        const auto end = std::find_if(block, all.end(), [&](seat s) { return s.factor != block->factor; });
        std::stable_sort(block, end,
                         [&](seat a, seat b) { return sums[index(a.domain)] < sums[index(b.domain)]; });
        for (; block != end; ++block) {
            const int program = ranks[static_cast<std::size_t>(block - all.begin())];
            answer[index(program)] = block->domain;
            sums[index(block->domain)] += of[index(program)];
        }
    }
    return renamed(answer, domains);
}

// Depth first: each program goes to a domain that has programs, or to the first that has none.
class enumeration {
public:
    enumeration(int programs, int domains, const std::function<void(const domains_of&)>& seen)
        : seen_(seen)
        , most_(most_on_a_domain(programs, domains))
        , of_(index(programs), 0)
        , count_(index(domains), 0) {}

    void from(std::size_t program, int used) {
        const int left = static_cast<int>(of_.size() - program);
        const int domains = static_cast<int>(count_.size());
        const int wanted = std::min<int>(domains, static_cast<int>(of_.size()));
        if (left < wanted - used) return; // a domain would stay empty
        if (left == 0) return seen_(of_);
        for (int d = 0; d < std::min(used + 1, domains); ++d) {
            if (count_[index(d)] == most_) continue;
            of_[program] = d;
            ++count_[index(d)];
            from(program + 1, std::max(used, d + 1));
            --count_[index(d)];
        }
    }

private:
    const std::function<void(const domains_of&)>& seen_;
    const int most_;
    domains_of of_;
    std::vector<int> count_; ///< programs of each domain
};

} // namespace

int most_on_a_domain(int programs, int domains) noexcept { return (programs + domains - 1) / domains; }

std::int64_t score(std::span<const int> domains_of_programs,
                   std::span<const std::int64_t> rates_of_programs) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < domains_of_programs.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (domains_of_programs[i] == domains_of_programs[j])
                sum += std::max(rates_of_programs[i], rates_of_programs[j]) -
                       std::min(rates_of_programs[i], rates_of_programs[j]);
    return sum;
}

std::int64_t best_score(rates of, int domains) {
    std::sort(of.begin(), of.end(), std::greater<>());
    const std::vector<seat> all = seats(static_cast<int>(of.size()), domains);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += of[i] * all[i].factor;
    return sum;
}

std::int64_t spread_of_sums(std::span<const int> domains_of_programs,
                            std::span<const std::int64_t> rates_of_programs, int domains) {
    std::vector<std::int64_t> sums(index(domains), 0);
    for (std::size_t i = 0; i < domains_of_programs.size(); ++i)
        sums[index(domains_of_programs[i])] += rates_of_programs[i];
    const auto [least, greatest] = std::minmax_element(sums.begin(), sums.end());
    return *greatest - *least;
}

bool is_placement(std::span<const int> domains_of_programs, int domains) {
    const int programs = static_cast<int>(domains_of_programs.size());
    std::vector<int> count(index(domains), 0);
    for (const int d : domains_of_programs) {
        if (d < 0 || d >= domains) return false;
        if (++count[index(d)] > most_on_a_domain(programs, domains)) return false;
    }
    return programs < domains || std::find(count.begin(), count.end(), 0) == count.end();
}

void for_each_placement(int programs, int domains, const std::function<void(const domains_of&)>& seen) {
    enumeration(programs, domains, seen).from(0, 0);
}

domains_of best_placement(const rates& of, int domains) {
    const int programs = static_cast<int>(of.size());
    if (programs > most_tried) return by_blocks(of, domains);
    const std::int64_t best = best_score(of, domains);
    domains_of answer;
    std::optional<std::int64_t> least;
    for_each_placement(programs, domains, [&](const domains_of& tried) {
        if (score(tried, of) != best) return;
        const std::int64_t spread = spread_of_sums(tried, of, domains);
        if (least && *least <= spread) return;
        least = spread;
        answer = tried;
    });
    return answer;
}

} // namespace weft::share
