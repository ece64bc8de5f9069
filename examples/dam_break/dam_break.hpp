// A dam breaks: water as particles that act on those near them, in a plane or in space.
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. Master's thesis,
//   University of Tokyo 2021, sections 4.2.2 and 4.4.3; the forces after M. Becker, M. Teschner: Weakly
//   compressible SPH for free surface flows, SCA 2007.
//
// The particles are in the order of an octree. Densities, and then forces, are computed in parallel while the
// tree is traversed: a task for each child of a node, its work as many as it has particles. A leaf reads its
// neighbours and writes what is its own, and adds in an order that the tree alone determines: the result has
// the same bits whatever the schedule. To sort the particles and to build the tree is left to one task, and
// on a modelled machine it takes no time: what is measured is the interactions, as in the paper.
#pragma once

#include "../common/cost.hpp"
#include "octree.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace examples {

// A particle that is looked at and may be near, in a plane and in space.
template <std::size_t D>
inline constexpr double density_cycles_per_pair = D == 2 ? 13 : 19;
template <std::size_t D>
inline constexpr double force_cycles_per_pair = D == 2 ? 15 : 22;

inline constexpr std::size_t dam_leaf_particles = 32;

// Lengths in those of the dam's sides, times such that gravity is 1.
template <std::size_t D>
class dam_break {
public:
    static constexpr double width = 3; // of the basin
    static constexpr double rest_density = 1, viscosity = 0.1, gravity = 1;

    // A dam of particles^D particles in a corner of the basin.
    explicit dam_break(std::size_t particles)
        : spacing_(1 / static_cast<double>(particles))
        , mass_(rest_density * std::pow(spacing_, static_cast<double>(D)))
        , reach_(2 * 1.3 * spacing_) {
        std::size_t n = 1;
        for (std::size_t axis = 0; axis < D; ++axis) n *= particles;
        position_.resize(n);
        velocity_.resize(n);
        number_.resize(n);
        density_.resize(n);
        pressure_.resize(n);
        force_.resize(n);
        wall_force_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t place = i;
            for (std::size_t axis = 0; axis < D; ++axis, place /= particles) {
                position_[i][axis] = (static_cast<double>(place % particles) + 0.5) * spacing_;
            }
            number_[i] = i;
        }
    }

    std::size_t particles() const { return position_.size(); }

    // BEGIN-EXAMPLE dam_break
    void run(int steps) {
        for (int step = 0; step < steps; ++step) {
            weft::iteration(step);
            const octree<D> tree = sorted_tree();
            interact(tree, tree.root(), [&](const node& leaf) { find_densities(tree, leaf); });
            interact(tree, tree.root(), [&](const node& leaf) { find_forces(tree, leaf); });
            move();
        }
    }

private:
    using node = typename octree<D>::node;

    template <class Leaf>
    void interact(const octree<D>& tree, const node& at, const Leaf& leaf) {
        if (at.is_leaf()) return leaf(at);
        weft::task_group children(hint(at));
        for (std::uint32_t child : at.children) {
            const node& below = tree[child];
            children.run([&, this] { interact(tree, below, leaf); }, hint(below));
        }
        children.wait();
    }
    // END-EXAMPLE dam_break

public:
    void run_serially(int steps) {
        for (int step = 0; step < steps; ++step) {
            const octree<D> tree = sorted_tree();
            for_each_leaf(tree, tree.root(), [&](const node& leaf) { find_densities(tree, leaf); });
            for_each_leaf(tree, tree.root(), [&](const node& leaf) { find_forces(tree, leaf); });
            move();
        }
    }

    friend bool same_values(const dam_break& x, const dam_break& y) {
        return x.number_ == y.number_ && x.position_ == y.position_ && x.velocity_ == y.velocity_;
    }

    double density_by_all_pairs(std::size_t i) const {
        double sum = 0;
        for (std::size_t j = 0; j < particles(); ++j) {
            sum += kernel(std::sqrt(distance2<D>(position_[i], position_[j])));
            for_each_image(i, j, [&](std::size_t, double d2, double) { sum += kernel(std::sqrt(d2)); });
        }
        return mass_ * sum;
    }

    // The largest difference between the densities of some particles, where they are now, and those by all
    // pairs, relative to that of water at rest.
    double density_error(std::size_t samples) {
        const octree<D> tree = sorted_tree();
        for_each_leaf(tree, tree.root(), [&](const node& leaf) { find_densities(tree, leaf); });
        double worst = 0;
        for (std::size_t s = 0; s < samples; ++s) {
            const std::size_t i = s * (particles() - 1) / std::max<std::size_t>(samples - 1, 1);
            worst = std::fmax(worst, std::fabs(density_[i] - density_by_all_pairs(i)) / rest_density);
        }
        return worst;
    }

    // The sum of the forces between particles, which is 0 by Newton's third law, relative to that of their
    // magnitudes.
    double force_error() const {
        point_of<D> sum{};
        double magnitudes = 0;
        for (const auto& f : force_) {
            for (std::size_t axis = 0; axis < D; ++axis) {
                sum[axis] += f[axis];
                magnitudes += std::fabs(f[axis]);
            }
        }
        double worst = 0;
        for (double s : sum) worst = std::fmax(worst, std::fabs(s));
        return magnitudes > 0 ? worst / magnitudes : 0;
    }

    bool all_inside() const {
        for (const auto& p : position_) {
            for (double x : p) {
                if (!(x >= 0 && x <= width)) return false;
            }
        }
        return true;
    }

    // How far the water has come.
    double front() const {
        double furthest = 0;
        for (const auto& p : position_) furthest = std::fmax(furthest, p[0]);
        return furthest;
    }

    // Of the centre of the water: it falls from the first step on, long before the front moves.
    double height() const {
        double sum = 0;
        for (const auto& p : position_) sum += p[D - 1];
        return sum / static_cast<double>(position_.size());
    }

private:
    template <class Leaf>
    static void for_each_leaf(const octree<D>& tree, const node& at, const Leaf& leaf) {
        if (at.is_leaf()) return leaf(at);
        for (std::uint32_t child : at.children) for_each_leaf(tree, tree[child], leaf);
    }

    weft::hints hint(const node& n) const {
        const std::size_t bytes_each = 4 * sizeof(point_of<D>) + 2 * sizeof(double);
        return {.work = static_cast<double>(n.bodies()),
                .bytes = n.bodies() * bytes_each,
                .children = static_cast<int>(n.children.size()),
                .data_begin = position_.data() + n.first,
                .data_end = position_.data() + n.last};
    }

    // The cubic spline and the negative of its slope over the distance.
    double kernel(double distance) const {
        const double q = 2 * distance / reach_;
        if (q >= 2) return 0;
        const double rest = 2 - q;
        return norm() * (q < 1 ? 1 - 1.5 * q * q + 0.75 * q * q * q : 0.25 * rest * rest * rest);
    }
    double slope(double distance) const {
        const double h = reach_ / 2, q = distance / h;
        if (q >= 2) return 0;
        const double rest = 2 - q;
        // Divided by the distance, which the first piece contains.
        return norm() / (h * h) * (q < 1 ? 3 - 2.25 * q : 0.75 * rest * rest / q);
    }
    double norm() const {
        const double h = reach_ / 2;
        return D == 2 ? 10 / (7 * std::numbers::pi * h * h) : 1 / (std::numbers::pi * h * h * h);
    }
    // Ten times the largest speed to be expected, so that densities change by about a hundredth.
    static double speed_of_sound() { return 10 * std::sqrt(2 * gravity); }
    double time_step() const { return 0.2 * reach_ / speed_of_sound(); }

    octree<D> sorted_tree() {
        const cell_order<D> cells(width);
        const std::size_t n = particles();
        std::vector<std::pair<std::uint64_t, std::size_t>> order(n);
        for (std::size_t i = 0; i < n; ++i) order[i] = {cells.place(position_[i]), i};
        std::sort(order.begin(), order.end());
        const auto rearrange = [&](auto& values) {
            auto old = values;
            for (std::size_t i = 0; i < n; ++i) values[i] = old[order[i].second];
        };
        rearrange(position_);
        rearrange(velocity_);
        rearrange(number_);
        std::vector<std::uint64_t> places(n);
        for (std::size_t i = 0; i < n; ++i) places[i] = order[i].first;
        return octree<D>(position_, places, dam_leaf_particles);
    }

    template <class Values>
    static void touch(const Values& values, const node& n, weft::access how) {
        weft::touch(values.data() + n.first, n.bodies() * sizeof(values[0]), how);
    }

    void find_densities(const octree<D>& tree, const node& leaf) {
        std::fill(density_.begin() + difference(leaf.first), density_.begin() + difference(leaf.last), 0);
        std::size_t pairs = 0;
        tree.near(leaf, reach_, [&](const node& other) {
            touch(position_, other, weft::access::read);
            pairs += leaf.bodies() * other.bodies();
            for (std::size_t i = leaf.first; i < leaf.last; ++i) {
                for (std::size_t j = other.first; j < other.last; ++j) {
                    const double d2 = distance2<D>(position_[i], position_[j]);
                    if (d2 < reach_ * reach_) density_[i] += mass_ * kernel(std::sqrt(d2));
                    for_each_image(i, j, [&](std::size_t, double image_d2, double) {
                        density_[i] += mass_ * kernel(std::sqrt(image_d2));
                    });
                }
            }
        });
        touch(density_, leaf, weft::access::write);
        touch(pressure_, leaf, weft::access::write);
        spend(pairs, density_cycles_per_pair<D>);
        const double stiffness = rest_density * speed_of_sound() * speed_of_sound() / 7;
        for (std::size_t i = leaf.first; i < leaf.last; ++i) {
            // Tait's equation; none below, for at the surface particles have too few neighbours.
            const double tait = stiffness * (std::pow(density_[i] / rest_density, 7) - 1);
            pressure_[i] = std::fmax(0, tait) / (density_[i] * density_[i]);
        }
    }

    void find_forces(const octree<D>& tree, const node& leaf) {
        for (auto* forces : {&force_, &wall_force_}) {
            std::fill(forces->begin() + difference(leaf.first), forces->begin() + difference(leaf.last),
                      point_of<D>{});
            touch(*forces, leaf, weft::access::write);
        }
        std::size_t pairs = 0;
        tree.near(leaf, reach_, [&](const node& other) {
            touch(position_, other, weft::access::read);
            touch(velocity_, other, weft::access::read);
            touch(density_, other, weft::access::read);
            touch(pressure_, other, weft::access::read);
            pairs += leaf.bodies() * other.bodies();
            for (std::size_t i = leaf.first; i < leaf.last; ++i) {
                for (std::size_t j = other.first; j < other.last; ++j) {
                    add_force(i, j);
                    for_each_image(i, j, [&](std::size_t axis, double image_d2, double from_image) {
                        const double strength = pressure_[i] + pressure_[j];
                        wall_force_[i][axis] += mass_ * strength * slope(std::sqrt(image_d2)) * from_image;
                    });
                }
            }
        });
        spend(pairs, force_cycles_per_pair<D>);
    }

    // Behind a wall lies the mirror image of the water: calls use(axis, square of the distance, distance
    // along the axis with its sign) for the images of particle `j` that are near particle `i`.
    template <class Use>
    void for_each_image(std::size_t i, std::size_t j, Use&& use) const {
        for (std::size_t axis = 0; axis < D; ++axis) {
            const double x = position_[i][axis], other = position_[j][axis];
            for (const double wall : {0.0, width}) {
                const double from_image = x + other - 2 * wall;
                if (std::fabs(from_image) >= reach_) continue;
                const double d2 = distance2<D>(position_[i], position_[j]) - (x - other) * (x - other) +
                                  from_image * from_image;
                if (d2 < reach_ * reach_) use(axis, d2, from_image);
            }
        }
    }

    void add_force(std::size_t i, std::size_t j) {
        const double d2 = distance2<D>(position_[i], position_[j]);
        if (d2 >= reach_ * reach_ || i == j) return;
        double approach = 0;
        for (std::size_t axis = 0; axis < D; ++axis) {
            approach += (velocity_[i][axis] - velocity_[j][axis]) * (position_[i][axis] - position_[j][axis]);
        }
        double strength = pressure_[i] + pressure_[j];
        if (approach < 0) {
            const double h = reach_ / 2, mean_density = (density_[i] + density_[j]) / 2;
            strength -= viscosity * speed_of_sound() * h * approach / (d2 + 0.01 * h * h) / mean_density;
        }
        strength *= mass_ * slope(std::sqrt(d2));
        for (std::size_t axis = 0; axis < D; ++axis) {
            force_[i][axis] += strength * (position_[i][axis] - position_[j][axis]);
        }
    }

    // The last direction is up. What comes through a wall all the same is thrown back with half of its speed.
    void move() {
        const double dt = time_step();
        for (std::size_t i = 0; i < particles(); ++i) {
            for (std::size_t axis = 0; axis < D; ++axis) {
                const double fall = axis == D - 1 ? -gravity : 0;
                double &v = velocity_[i][axis], &x = position_[i][axis];
                v += dt * (force_[i][axis] + wall_force_[i][axis] + fall);
                x += dt * v;
                if (x < 0 || x > width) {
                    x = std::clamp(x < 0 ? -x : 2 * width - x, 0.0, width);
                    v *= -0.5;
                }
            }
        }
    }

    static std::ptrdiff_t difference(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

    double spacing_, mass_, reach_;
    std::vector<point_of<D>> position_, velocity_;
    std::vector<point_of<D>> force_, wall_force_; // for a unit of mass
    std::vector<double> density_, pressure_;      // pressures over the square of the density
    std::vector<std::size_t> number_;             // at the start
};

} // namespace examples
