// Particles that attract each other, in blocks: n-body by all pairs, in the way of
//
//   M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015.
//
// A task is a pair of blocks: it computes the force between each two of their particles once, and adds it to
// both, so it changes the forces of two blocks. In which order these tasks run is all the same to physics:
//
//   readwrite    they run in the order in which they were added, which makes the same bits as a serial
//   program commutative  any order will do, one at a time for each block; the sums differ by rounding
#pragma once

#include "../common/compare.hpp"
#include "../common/cost.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace examples {

inline constexpr double n_body_cycles_per_pair = 16, n_body_cycles_per_move = 7.5;

inline constexpr double n_body_time_step = 1e-3;
inline constexpr double n_body_softening = 1e-4; // square of the length below which forces do not grow

class vectors { // of a block's particles
public:
    explicit vectors(std::size_t n) : n_(n), numbers_(3 * n) {}

    // The coordinates in one direction: 0 to 2.
    double* operator[](std::size_t axis) { return numbers_.data() + axis * n_; }
    const double* operator[](std::size_t axis) const { return numbers_.data() + axis * n_; }
    // What tasks access.
    std::span<const double> datum() const { return numbers_; }
    const std::vector<double>& numbers() const { return numbers_; }

private:
    std::size_t n_;
    std::vector<double> numbers_;
};

inline void touch(const vectors& v, weft::access how) {
    weft::touch(v.datum().data(), v.datum().size_bytes(), how);
}

struct particles {
    std::vector<double> mass;
    vectors position, velocity, force;

    explicit particles(std::size_t n) : mass(n), position(n), velocity(n), force(n) {}
    std::size_t size() const { return mass.size(); }
};

class n_body {
public:
    n_body(std::size_t n, std::size_t block, std::uint64_t seed) {
        for (std::size_t first = 0; first < n; first += block) {
            particles& b = blocks_.emplace_back(std::min(block, n - first));
            for (std::size_t i = 0; i < b.size(); ++i) {
                auto random = [&](std::uint64_t k) {
                    return random_from_minus_1_to_1(seed, (first + i) * 8 + k);
                };
                b.mass[i] = (1.5 + random(0)) / static_cast<double>(n);
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    b.position[axis][i] = random(1 + axis);
                    b.velocity[axis][i] = random(4 + axis);
                }
            }
        }
    }

    // BEGIN-EXAMPLE n_body
    // The tasks of one time step. `changes(forces)` is how a task of a pair says that it changes them.
    template <class Changes>
    void add_step(weft::graph& dag, Changes&& changes) {
        using weft::read, weft::readwrite, weft::name;
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            particles& a = blocks_[i];
            dag.add([&a] { add_forces_within(a); }, read(std::span(a.mass)), read(a.position.datum()),
                    changes(a.force.datum()), name("within"));
            for (std::size_t j = i + 1; j < blocks_.size(); ++j) {
                particles& b = blocks_[j];
                dag.add([&a, &b] { add_forces_between(a, b); }, read(std::span(a.mass)),
                        read(std::span(b.mass)), read(a.position.datum()), read(b.position.datum()),
                        changes(a.force.datum()), changes(b.force.datum()), name("between"));
            }
        }
        for (particles& a : blocks_) {
            dag.add([&a] { move(a); }, read(std::span(a.mass)), readwrite(a.force.datum()),
                    readwrite(a.position.datum()), readwrite(a.velocity.datum()), name("move"));
        }
    }
    // END-EXAMPLE n_body

    // A time step in loops: loop(n, f) calls f(first, last) for parts of [0, n). The force between two particles is computed for
    // each of them, so that a block changes its own forces only.
    template <class Loop>
    void step_in_loops(const Loop& loop) {
        loop(blocks_.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i)
                for (const particles& b : blocks_) add_forces_on(blocks_[i], b);
        });
        loop(blocks_.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) move(blocks_[i]);
        });
    }

    void serial_step() {
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            add_forces_within(blocks_[i]);
            for (std::size_t j = i + 1; j < blocks_.size(); ++j) add_forces_between(blocks_[i], blocks_[j]);
        }
        for (particles& a : blocks_) move(a);
    }

    const std::vector<particles>& blocks() const { return blocks_; }

    std::array<double, 3> momentum() const {
        std::array<double, 3> sum{};
        for (const particles& b : blocks_) {
            for (std::size_t i = 0; i < b.size(); ++i) {
                for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] += b.mass[i] * b.velocity[axis][i];
            }
        }
        return sum;
    }

private:
    static void declare(const particles& b) {
        weft::touch(b.mass.data(), b.size() * 8, weft::access::read);
        touch(b.position, weft::access::read);
        touch(b.force, weft::access::readwrite);
    }

    static void add_forces_within(particles& a) {
        declare(a);
        spend(a.size() * (a.size() - 1) / 2, n_body_cycles_per_pair);
        for (std::size_t i = 0; i < a.size(); ++i) add_forces(a, i, a, i + 1);
    }

    static void add_forces_between(particles& a, particles& b) {
        declare(a);
        declare(b);
        spend(a.size() * b.size(), n_body_cycles_per_pair);
        for (std::size_t i = 0; i < a.size(); ++i) add_forces(a, i, b, 0);
    }

    // On those of `a` by those of `b`.
    static void add_forces_on(particles& a, const particles& b) {
        declare(a);
        weft::touch(b.mass.data(), b.size() * 8, weft::access::read);
        touch(b.position, weft::access::read);
        spend(a.size() * b.size(), n_body_cycles_per_pair, [&] { sum_forces_on(a, b); });
    }
    static void sum_forces_on(particles& a, const particles& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            std::array<double, 3> sum{};
            for (std::size_t j = 0; j < b.size(); ++j) {
                std::array<double, 3> way{};
                double square = n_body_softening;
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    way[axis] = b.position[axis][j] - a.position[axis][i];
                    square += way[axis] * way[axis];
                }
                const double f = a.mass[i] * b.mass[j] / (square * std::sqrt(square));
                for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] += f * way[axis];
            }
            for (std::size_t axis = 0; axis < 3; ++axis) a.force[axis][i] += sum[axis];
        }
    }

    // Between particle i of `a` and those of `b` from `first` on. By gravity, with a constant of 1.
    static void add_forces(particles& a, std::size_t i, particles& b, std::size_t first) {
        const double *bx = b.position[0], *by = b.position[1], *bz = b.position[2];
        double *fx = b.force[0], *fy = b.force[1], *fz = b.force[2];
        const double x = a.position[0][i], y = a.position[1][i], z = a.position[2][i], mass = a.mass[i];
        double sum_x = 0, sum_y = 0, sum_z = 0;
        for (std::size_t j = first; j < b.size(); ++j) {
            const double dx = bx[j] - x, dy = by[j] - y, dz = bz[j] - z;
            const double square = dx * dx + dy * dy + dz * dz + n_body_softening;
            const double f = mass * b.mass[j] / (square * std::sqrt(square));
            sum_x += f * dx, sum_y += f * dy, sum_z += f * dz;
            fx[j] -= f * dx, fy[j] -= f * dy, fz[j] -= f * dz;
        }
        a.force[0][i] += sum_x, a.force[1][i] += sum_y, a.force[2][i] += sum_z;
    }

    // Velocities and positions after a time step; no forces yet for the next one.
    static void move(particles& a) {
        weft::touch(a.mass.data(), a.size() * 8, weft::access::read);
        for (const vectors* v : {&a.position, &a.velocity, &a.force}) touch(*v, weft::access::readwrite);
        spend(a.size(), n_body_cycles_per_move);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            double *position = a.position[axis], *velocity = a.velocity[axis], *force = a.force[axis];
            for (std::size_t i = 0; i < a.size(); ++i) {
                velocity[i] += n_body_time_step * force[i] / a.mass[i];
                position[i] += n_body_time_step * velocity[i];
                force[i] = 0;
            }
        }
    }

    std::vector<particles> blocks_;
};

// Between the velocities of two runs of the same particles, each coordinate by itself.
inline double largest_difference(const n_body& a, const n_body& b) {
    double worst = 0;
    for (std::size_t k = 0; k < a.blocks().size(); ++k) {
        worst = std::max(
            worst, largest_difference(a.blocks()[k].velocity.numbers(), b.blocks()[k].velocity.numbers()));
    }
    return worst;
}

} // namespace examples
