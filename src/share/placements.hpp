#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

// Placements of programs on domains, and LIRA's score of them. Not here: which programs are considered, and whether a
// better placement is taken (decision.hpp).
//
//   A. Collins, T. Harris, M. Cole, C. Fensch: LIRA: Adaptive Contention-Aware Thread Placement for Parallel Runtime
//   Systems. ROSS'15, 4.2.
namespace weft::share {

/// Limits of what is decided and published. With them a score fits into 63 bits: 64 * 63 / 2 * 10^15 < 2^61.
inline constexpr int most_programs = 64, most_domains = 64;
inline constexpr std::int64_t most_rate = 1'000'000'000'000'000;

/// The domain of each program, by the index of the program.
using domains_of = std::vector<int>;
using rates = std::vector<std::int64_t>;

/// The most programs that a domain gets: the quotient rounded up.
int most_on_a_domain(int programs, int domains) noexcept;

/// The sum over all pairs of programs on one domain of the absolute difference of their rates.
std::int64_t score(std::span<const int> domains_of_programs, std::span<const std::int64_t> rates_of_programs);

/// The greatest score of a placement, without trying any.
std::int64_t best_score(rates, int domains);

/// The difference between the greatest and the least sum of rates on a domain.
std::int64_t spread_of_sums(std::span<const int> domains_of_programs,
                            std::span<const std::int64_t> rates_of_programs, int domains);

/// Whether every program has a domain, none has too many, and none is empty while another has two.
bool is_placement(std::span<const int> domains_of_programs, int domains);

/// Calls `seen` with each placement in lexicographic order, without those that only rename domains: the first program of
/// each domain comes after the first ones of all lower domains.
void for_each_placement(int programs, int domains, const std::function<void(const domains_of&)>& seen);

/// Of the placements with the best score, the one with the least spread of sums, then the lexicographically first. Of
/// more than `most_tried` programs the score is still the best, but the spread may not be the least.
inline constexpr int most_tried = 8;
domains_of best_placement(const rates&, int domains);

} // namespace weft::share
