// A genetic algorithm on islands: each island breeds a population of its own for some generations, then the
// best of each goes to the next island, in a ring. GA of Chen and Guo (common/division.hpp), and one of their
// batches: islands of four sizes, three of the sizes on so many islands each and the smallest on all others.
//
// It looks for the point where Rastrigin's function, which is full of local minima, is least: 0, at the
// origin. Every random number has a place of its own in a stream, so no result depends on the schedule.
#pragma once

#include "../common/cost.hpp"
#include "../common/division.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

namespace examples {

inline constexpr std::size_t genes = 16;

// A gene that is inherited, perhaps mutated, and valued,
// with its cosine; an individual of the two tournaments that choose parents.
inline constexpr double islands_cycles_per_gene = 79;

struct individual {
    std::array<double, genes> gene{};
    double value = 0;
};

// Rastrigin's function.
inline double rastrigin(const std::array<double, genes>& gene) {
    double sum = 10 * static_cast<double>(genes);
    for (double g : gene) sum += g * g - 10 * std::cos(2 * std::numbers::pi * g);
    return sum;
}

inline bool better(const individual& a, const individual& b) { return a.value < b.value; }

class island {
public:
    island(std::size_t population, std::uint64_t seed)
        : seed_(seed)
        , members_(population)
        , children_(population) {
        for (individual& m : members_) {
            for (double& g : m.gene) g = 5 * (2 * random() - 1);
            m.value = rastrigin(m.gene);
        }
    }

    std::size_t population() const { return members_.size(); }
    std::size_t bytes() const { return 2 * members_.size() * sizeof(individual); }
    const std::vector<individual>& members() const { return members_; }
    const individual& best() const { return *std::min_element(members_.begin(), members_.end(), better); }

    void settle(const individual& guest) {
        *std::max_element(members_.begin(), members_.end(), better) = guest;
    }

    void breed(int generations) {
        weft::touch(members_.data(), bytes() / 2, weft::access::readwrite);
        weft::touch(children_.data(), bytes() / 2, weft::access::readwrite);
        const std::size_t bred = static_cast<std::size_t>(generations) * members_.size() * genes;
        spend(bred, islands_cycles_per_gene, [&] {
            for (; generations > 0; --generations) {
                children_[0] = best(); // is never lost
                for (std::size_t i = 1; i < children_.size(); ++i) children_[i] = child();
                std::swap(members_, children_);
            }
        });
    }

private:
    double random() { return static_cast<double>(random_at(seed_, drawn_++) >> 11) * 0x1p-53; }
    const individual& member() { return members_[random_at(seed_, drawn_++) % members_.size()]; }

    // The better of two.
    const individual& parent() {
        const individual &a = member(), &b = member();
        return better(a, b) ? a : b;
    }

    // Each gene is one of two parents'; on average one is changed, by a step of any order of magnitude.
    individual child() {
        const individual &a = parent(), &b = parent();
        individual born;
        for (std::size_t k = 0; k < genes; ++k) {
            born.gene[k] = random() < 0.5 ? a.gene[k] : b.gene[k];
            if (random() < 1 / static_cast<double>(genes)) {
                const double step = std::exp2(-12 * random());
                born.gene[k] += random() < 0.5 ? step : -step;
            }
        }
        born.value = rastrigin(born.gene);
        return born;
    }

    std::uint64_t seed_, drawn_ = 0;
    std::vector<individual> members_, children_;
};

// Sizes relative to the smallest, and the names of their tasks' classes.
struct island_size {
    std::size_t times;
    std::string_view name;
};
inline constexpr std::array<island_size, 4> island_sizes = {
    {{27, "breed-27"}, {9, "breed-9"}, {3, "breed-3"}, {1, "breed"}}};

// Of island `i`, when each of the larger sizes has so many islands.
inline const island_size& size_of_island(std::size_t i, std::size_t of_each_size) {
    return of_each_size == 0 ? island_sizes.back() : island_sizes[std::min<std::size_t>(i / of_each_size, 3)];
}

class archipelago {
public:
    archipelago(std::size_t islands, std::size_t population, std::size_t of_each_size, std::uint64_t seed)
        : of_each_size_(of_each_size) {
        islands_.reserve(islands);
        for (std::size_t i = 0; i < islands; ++i) {
            islands_.emplace_back(population * size_of_island(i, of_each_size).times, mix(seed) + i);
        }
    }

    // BEGIN-EXAMPLE islands
    void evolve(int ages, int generations) {
        for (int age = 0; age < ages; ++age) {
            weft::iteration(age);
            divide_rows(breeding{*this, generations}, 0, islands_.size(), 1);
            migrate();
        }
    }
    // END-EXAMPLE islands

    // An age as a loop: loop(n, f) calls f(first, last) for parts of [0, n).
    template <class Loop>
    void evolve_in_loops(int ages, int generations, const Loop& loop) {
        for (int age = 0; age < ages; ++age) {
            loop(islands_.size(), [&](std::size_t first, std::size_t last) {
                breeding{*this, generations}.leaf(first, last);
            });
            migrate();
        }
    }

    void evolve_serially(int ages, int generations) {
        for (int age = 0; age < ages; ++age) {
            for (island& i : islands_) i.breed(generations);
            migrate();
        }
    }

    const std::vector<island>& islands() const { return islands_; }
    const individual& best() const {
        const auto best_of = [](const island& a, const island& b) { return better(a.best(), b.best()); };
        return std::min_element(islands_.begin(), islands_.end(), best_of)->best();
    }

private:
    struct breeding {
        archipelago& all;
        int generations;

        void leaf(std::size_t first, std::size_t last) const {
            for (std::size_t i = first; i < last; ++i) all.islands_[i].breed(generations);
        }
        weft::hints hint(std::size_t first, std::size_t last) const {
            weft::hints h;
            for (std::size_t i = first; i < last; ++i) {
                h.work += static_cast<double>(all.islands_[i].population());
                h.bytes += all.islands_[i].bytes();
            }
            if (last - first == 1) h.name = size_of_island(first, all.of_each_size_).name;
            return h;
        }
    };

    void migrate() {
        std::vector<individual> guests;
        for (const island& i : islands_) guests.push_back(i.best());
        for (std::size_t i = 0; i < islands_.size(); ++i)
            islands_[(i + 1) % islands_.size()].settle(guests[i]);
    }

    std::size_t of_each_size_;
    std::vector<island> islands_;
};

inline bool same_values(const archipelago& x, const archipelago& y) {
    for (std::size_t i = 0; i < x.islands().size(); ++i) {
        const auto &a = x.islands()[i].members(), &b = y.islands()[i].members();
        const auto same = [](const individual& m, const individual& n) { return m.gene == n.gene; };
        if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same)) return false;
    }
    return true;
}

} // namespace examples
