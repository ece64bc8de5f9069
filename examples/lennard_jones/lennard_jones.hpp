// A Lennard-Jones liquid, and an analysis of its positions while the simulation goes on, as LAMMPS does it with other
// potentials and more:
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.3.4.
//
// A step is a few parallel regions with a task for each worker, and between them the main task is alone, as a program is
// that communicates. Each `every` steps the main task copies all positions, and tasks of a group count the distances of the
// pairs meanwhile. They take long, so a worker that has begun one comes too late to the next region, unless the tasks of the
// analysis are preempted.
//
// Reduced units; each atom adds up the forces on itself, in the order of the cells, so bits do not depend on the tasks.
#pragma once

#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace examples {

struct atoms {
    std::array<std::vector<double>, 3> position, velocity, force;
};

class lennard_jones {
public:
    static constexpr double density = 0.8442, temperature = 1.44, time_step = 0.005, reach = 2.5;

    // 4 * side^3 atoms of a crystal that melts.
    lennard_jones(std::size_t side, std::uint64_t seed)
        : count_(4 * side * side * side)
        , length_(std::cbrt(static_cast<double>(count_) / density))
        , cells_a_side_(std::max<std::size_t>(static_cast<std::size_t>(length_ / reach), 1))
        , cell_of_(count_)
        , in_cells_(count_)
        , first_in_cell_(cells_a_side_ * cells_a_side_ * cells_a_side_ + 1) {
        for (auto* v : {&now_.position, &now_.velocity, &now_.force})
            for (auto& axis : *v) axis.resize(count_);
        put_on_crystal(side);
        draw_velocities(seed);
        sort_into_cells();
        add_forces(0, count_);
    }

    std::size_t count() const { return count_; }
    double length() const { return length_; }
    const atoms& now() const { return now_; }

    // ---- a step; `region(f)` calls f(first, last) for parts of all atoms
    template <class Region>
    void step(Region&& region) {
        region([this](std::size_t first, std::size_t last) {
            kick(first, last);
            drift(first, last);
        });
        sort_into_cells();
        region([this](std::size_t first, std::size_t last) {
            add_forces(first, last);
            kick(first, last);
        });
    }

    double energy() const {
        double kinetic = 0, potential = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            for (const auto& axis : now_.velocity) kinetic += axis[i] * axis[i] / 2;
            for_each_near(i, [&](std::size_t, double, double, double, double square) {
                const double sixth = 1 / (square * square * square);
                potential += 2 * (sixth * sixth - sixth); // 4, for two atoms
            });
        }
        return kinetic + potential;
    }

private:
    void put_on_crystal(std::size_t side) {
        constexpr double of_cell[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
        const double cell = length_ / static_cast<double>(side);
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t at[3] = {i / 4 % side, i / 4 / side % side, i / 4 / side / side};
            for (std::size_t axis = 0; axis < 3; ++axis)
                now_.position[axis][i] = cell * (static_cast<double>(at[axis]) + of_cell[i % 4][axis]);
        }
    }

    // Of the temperature, and without a movement of the whole.
    void draw_velocities(std::uint64_t seed) {
        double square = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            double mean = 0;
            for (std::size_t i = 0; i < count_; ++i)
                mean += now_.velocity[axis][i] = random_from_minus_1_to_1(seed, 3 * i + axis);
            for (double& v : now_.velocity[axis]) {
                v -= mean / static_cast<double>(count_);
                square += v * v;
            }
        }
        const double factor = std::sqrt(3 * static_cast<double>(count_) * temperature / square);
        for (auto& axis : now_.velocity)
            for (double& v : axis) v *= factor;
    }

    void kick(std::size_t first, std::size_t last) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            for (std::size_t i = first; i < last; ++i)
                now_.velocity[axis][i] += time_step / 2 * now_.force[axis][i];
    }
    void drift(std::size_t first, std::size_t last) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            for (std::size_t i = first; i < last; ++i) {
                double& x = now_.position[axis][i];
                x += time_step * now_.velocity[axis][i];
                if (x < 0) x += length_;
                if (x >= length_) x -= length_;
            }
    }

    std::size_t cell_along(double x) const {
        const auto cell = static_cast<std::size_t>(x / length_ * static_cast<double>(cells_a_side_));
        return std::min(cell, cells_a_side_ - 1);
    }

    // In the order of their numbers within a cell.
    void sort_into_cells() {
        std::fill(first_in_cell_.begin(), first_in_cell_.end(), 0);
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t x = cell_along(now_.position[0][i]), y = cell_along(now_.position[1][i]),
                              z = cell_along(now_.position[2][i]);
            cell_of_[i] = (z * cells_a_side_ + y) * cells_a_side_ + x;
            ++first_in_cell_[cell_of_[i] + 1];
        }
        for (std::size_t c = 1; c < first_in_cell_.size(); ++c) first_in_cell_[c] += first_in_cell_[c - 1];
        for (std::size_t i = count_; i-- > 0;) in_cells_[--first_in_cell_[cell_of_[i] + 1]] = i;
        // What was the end of each cell has become its begin, one place too far.
        std::rotate(first_in_cell_.begin(), first_in_cell_.begin() + 1, first_in_cell_.end());
        first_in_cell_.back() = count_;
    }

    // The nearest image of the other atom.
    double nearest(double d) const {
        return d > length_ / 2 ? d - length_ : d < -length_ / 2 ? d + length_ : d;
    }

    // Calls use(j, dx, dy, dz, square) for each atom within reach of i.
    template <class Use>
    void for_each_near(std::size_t i, Use&& use) const {
        const std::size_t n = cells_a_side_, cell = cell_of_[i];
        const std::size_t at[3] = {cell % n, cell / n % n, cell / n / n};
        const std::size_t around = n < 3 ? n : 3; // with fewer cells in a row each of them once
        for (std::size_t k = 0; k < around * around * around; ++k) {
            const std::size_t x = (at[0] + n - 1 + k % around) % n,
                              y = (at[1] + n - 1 + k / around % around) % n,
                              z = (at[2] + n - 1 + k / around / around) % n;
            const std::size_t c = (z * n + y) * n + x;
            for (std::size_t k2 = first_in_cell_[c]; k2 < first_in_cell_[c + 1]; ++k2) {
                const std::size_t j = in_cells_[k2];
                const double dx = nearest(now_.position[0][i] - now_.position[0][j]);
                const double dy = nearest(now_.position[1][i] - now_.position[1][j]);
                const double dz = nearest(now_.position[2][i] - now_.position[2][j]);
                const double square = dx * dx + dy * dy + dz * dz;
                if (j != i && square < reach * reach) use(j, dx, dy, dz, square);
            }
        }
    }

    void add_forces(std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            double fx = 0, fy = 0, fz = 0;
            for_each_near(i, [&](std::size_t, double dx, double dy, double dz, double square) {
                const double inverse = 1 / square, sixth = inverse * inverse * inverse;
                const double f = 48 * inverse * sixth * (sixth - 0.5);
                fx += f * dx, fy += f * dy, fz += f * dz;
            });
            now_.force[0][i] = fx, now_.force[1][i] = fy, now_.force[2][i] = fz;
        }
    }

    std::size_t count_;
    double length_;
    std::size_t cells_a_side_;
    std::vector<std::size_t> cell_of_, in_cells_, first_in_cell_;
    atoms now_;
};

// How many pairs have which distance, in a copy of the positions.
class pair_distances {
public:
    static constexpr std::size_t bins = 64;

    pair_distances(std::size_t atoms, double length, std::size_t parts) : length_(length), of_parts_(parts) {
        for (auto& axis : copy_) axis.resize(atoms);
    }

    void take(const atoms& a) {
        for (std::size_t axis = 0; axis < 3; ++axis)
            std::copy(a.position[axis].begin(), a.position[axis].end(), copy_[axis].begin());
        for (part& p : of_parts_) p.counts.fill(0);
    }
    std::size_t parts() const { return of_parts_.size(); }

    // Calls nothing, and neither allocates nor locks: it may yield.
    void count(std::size_t p) {
        const std::size_t n = copy_[0].size();
        for (std::size_t i = p; i < n; i += parts())
            for (std::size_t j = 0; j < i; ++j) {
                double square = 0;
                for (const auto& axis : copy_) {
                    double d = std::fabs(axis[i] - axis[j]);
                    if (d > length_ / 2) d = length_ - d;
                    square += d * d;
                }
                const auto bin = static_cast<std::size_t>(square / (length_ * length_ / 4) * bins);
                ++of_parts_[p].counts[std::min(bin, bins - 1)]; // what lies in a corner is in the last one
            }
    }

    // After all parts have been counted. A number that depends on all counts of all times.
    void add_up() {
        for (std::size_t b = 0; b < bins; ++b) {
            std::uint64_t sum = 0;
            for (const part& p : of_parts_) sum += p.counts[b];
            pairs_ += sum;
            digest_ = mix(digest_ + sum);
        }
    }
    std::uint64_t digest() const { return digest_; }
    std::uint64_t pairs() const { return pairs_; }

private:
    struct alignas(64) part {
        std::array<std::uint64_t, bins> counts{};
    };
    double length_;
    std::array<std::vector<double>, 3> copy_;
    std::vector<part> of_parts_;
    std::uint64_t digest_ = 0, pairs_ = 0;
};

struct in_situ_settings {
    std::size_t steps = 50;
    std::size_t every = 2;   // steps from one analysis to the next; 0: there is none
    std::size_t regions = 2; // tasks of a region
    weft::preemption analysis = weft::preemption::yield;
};

// In a task. An analysis that is not ready when the next one is due is waited for. Tasks of a region come first (by the
// policies that read priorities) and are never preempted.
inline void simulate_with_analysis(lennard_jones& liquid, pair_distances& analysis,
                                   const in_situ_settings& s) {
    // BEGIN-EXAMPLE lennard_jones
    const weft::hints of_region{.name = "simulation", .priority = 1, .preempt = weft::preemption::off};
    const weft::hints of_analysis{.name = "analysis", .priority = -1, .preempt = s.analysis};
    weft::task_group analysing;
    bool is_due = false;
    for (std::size_t step = 0; step < s.steps; ++step) {
        liquid.step([&](auto part) {
            weft::task_group region;
            for (std::size_t r = 0; r < s.regions; ++r)
                region.run(
                    [&, r] { part(liquid.count() * r / s.regions, liquid.count() * (r + 1) / s.regions); },
                    of_region);
            region.wait();
        });
        if (s.every == 0 || (step + 1) % s.every != 0) continue;
        analysing.wait();
        if (is_due) analysis.add_up();
        analysis.take(liquid.now());
        is_due = true;
        for (std::size_t p = 0; p < analysis.parts(); ++p)
            analysing.run([&analysis, p] { analysis.count(p); }, of_analysis);
    }
    analysing.wait();
    if (is_due) analysis.add_up();
    // END-EXAMPLE lennard_jones
}

inline void simulate_serially(lennard_jones& liquid, pair_distances& analysis, const in_situ_settings& s) {
    for (std::size_t step = 0; step < s.steps; ++step) {
        liquid.step([&](auto part) { part(0, liquid.count()); });
        if (s.every == 0 || (step + 1) % s.every != 0) continue;
        analysis.take(liquid.now());
        for (std::size_t p = 0; p < analysis.parts(); ++p) analysis.count(p);
        analysis.add_up();
    }
}

} // namespace examples
