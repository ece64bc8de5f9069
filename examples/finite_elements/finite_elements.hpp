// Waves in a box by spectral finite elements, in the three steps of SpecFEM3D: gather what the points of an
// element have, process it, scatter the forces to the points, which elements share.
//
//   D. Komatitsch, J. Tromp: Introduction to the spectral element method for three-dimensional seismic wave
//   propagation. Geophysical Journal International 139(3), 1999.
//
// Elements come in blocks, points in parts; a block has points of four parts, and of its neighbours' parts
// too. In which order forces are added is all the same to physics, so there are three ways to say it:
//
//   readwrite    in the order in which the tasks were added, which makes the same bits as a serial program
//   concurrent   all at once, with atomic additions
//   commutative  any order will do, one at a time for each part
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace examples {

inline constexpr double gather_cycles_per_point = 1.3, process_cycles_per_point = 26,
                        scatter_cycles_per_point = 2.1, atomic_scatter_cycles_per_point = 9,
                        advance_cycles_per_point = 2.3;

// The functions of an element: polynomials of degree 4 in each direction, known at 5 points of Gauss, Lobatto
// and Legendre from -1 to 1.
struct element_basis {
    static constexpr std::size_t points = 5, degree = 4, all_points = points * points * points;
    using row = std::array<double, points>;

    row at{-1, -std::sqrt(3.0 / 7), 0, std::sqrt(3.0 / 7), 1};
    row weight{0.1, 49.0 / 90, 32.0 / 45, 49.0 / 90, 0.1};
    std::array<row, points> derivative{}; // [i][l]: at point i, of the function that is 1 at point l

    element_basis() {
        row product{}; // of the distances from the other points
        for (std::size_t i = 0; i < points; ++i) {
            product[i] = 1;
            for (std::size_t l = 0; l < points; ++l) product[i] *= i == l ? 1 : at[i] - at[l];
        }
        for (std::size_t i = 0; i < points; ++i) {
            for (std::size_t l = 0; l < points; ++l) {
                if (i == l) continue;
                derivative[i][l] = product[i] / product[l] / (at[i] - at[l]);
                derivative[i][i] -= derivative[i][l];
            }
        }
    }

    // What is at the points of an element becomes the force on them; an element is a cube of side 1.
    void process(double* u, double stiffness) const {
        std::array<double, all_points> force{};
        for_each_line([&](std::size_t first, std::size_t step, double weight_across) {
            row slope{};
            for (std::size_t i = 0; i < points; ++i) {
                for (std::size_t l = 0; l < points; ++l) slope[i] += derivative[i][l] * u[first + l * step];
                slope[i] *= weight[i] * weight_across;
            }
            for (std::size_t l = 0; l < points; ++l) {
                double sum = 0;
                for (std::size_t i = 0; i < points; ++i) sum += derivative[i][l] * slope[i];
                force[first + l * step] += sum;
            }
        });
        for (std::size_t i = 0; i < all_points; ++i) u[i] = -stiffness / 2 * force[i];
    }

    double mass(std::size_t x, std::size_t y, std::size_t z) const {
        return weight[x] * weight[y] * weight[z] / 8;
    }

private:
    // The lines of five points in each direction: use(first point, from one to the next, weight of the line).
    template <class Use>
    void for_each_line(Use&& use) const {
        for (std::size_t a = 0; a < points; ++a) {
            for (std::size_t b = 0; b < points; ++b) {
                const double w = weight[a] * weight[b];
                use((a * points + b) * points, 1, w);
                use(a * points * points + b, points, w);
                use(a * points + b, points * points, w);
            }
        }
    }
};

class wave_mesh {
public:
    static constexpr double time_step = 0.02; // below the limit of stability for stiffness up to 2

    // A cube of so many elements on each side, in blocks of `side` x `side` columns of elements. The forces
    // are one datum, as in the paper, or one for each part of the mesh that blocks share.
    wave_mesh(std::size_t elements, std::size_t side, std::uint64_t seed, bool forces_are_one_datum = false)
        : forces_are_one_datum_(forces_are_one_datum)
        , elements_(elements)
        , block_(std::min(side, elements))
        , parts_in_row_((elements + block_ - 1) / block_ + 1) {
        number_points();
        make_blocks(seed);
        start();
    }

    // BEGIN-EXAMPLE finite_elements
    // The tasks of one time step. `adds(forces)` is how a task says that it adds to the forces of a part;
    // `atomic`: other tasks do so at the same time.
    template <class Adds>
    void add_step(weft::graph& dag, Adds&& adds, bool atomic) {
        using weft::read, weft::write, weft::readwrite, weft::name;
        for (block& b : blocks_) {
            const auto [p, q, r, s] = b.parts;
            dag.add([&] { gather(b); }, read(displacement(p)), read(displacement(q)), read(displacement(r)),
                    read(displacement(s)), read(std::span(b.points)), write(std::span(b.values)),
                    name("gather"));
            dag.add([&] { process(b); }, readwrite(std::span(b.values)), name("process"));
            const auto work = [&, atomic] { scatter(b, atomic); };
            if (forces_are_one_datum_)
                dag.add(work, read(std::span(b.points)), read(std::span(b.values)), adds(all_forces_),
                        name("scatter"));
            else
                dag.add(work, read(std::span(b.points)), read(std::span(b.values)), adds(force(p)),
                        adds(force(q)), adds(force(r)), adds(force(s)), name("scatter"));
        }
        for (std::size_t p = 0; p < parts(); ++p) {
            dag.add([this, p] { advance(p); }, read(of_part(mass_, p)), read(all_forces_),
                    readwrite(force(p)), readwrite(of_part(velocity_, p)), readwrite(displacement(p)),
                    name("advance"));
        }
    }
    // END-EXAMPLE finite_elements

    // A time step in loops: loop(n, f) calls f(first, last) for parts of [0, n). Blocks that share no points add their
    // forces at the same time, every other one in both directions.
    template <class Loop>
    void step_in_loops(const Loop& loop) {
        const std::size_t in_row = parts_in_row_ - 1;
        loop(blocks_.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                gather(blocks_[i]);
                process(blocks_[i]);
            }
        });
        for (std::size_t colour = 0; colour < 4; ++colour) {
            const std::size_t y = colour % 2, z = colour / 2;
            const std::size_t columns = (in_row - y + 1) / 2, rows = (in_row - z + 1) / 2;
            loop(rows * columns, [&](std::size_t first, std::size_t last) {
                for (std::size_t i = first; i < last; ++i)
                    scatter(blocks_[(z + i / columns * 2) * in_row + y + i % columns * 2], false);
            });
        }
        loop(parts(), [&](std::size_t first, std::size_t last) {
            for (std::size_t p = first; p < last; ++p) advance(p);
        });
    }

    void serial_step() {
        for (block& b : blocks_) {
            gather(b);
            process(b);
            scatter(b, false);
        }
        for (std::size_t p = 0; p < parts(); ++p) advance(p);
    }

    std::size_t points() const { return displacement_.size(); }
    const std::vector<double>& displacements() const { return displacement_; }

    // Forces within the box add up to nothing, and so does what they have set in motion: the sum of all, and
    // of their sizes.
    std::pair<double, double> momentum() const {
        double sum = 0, sizes = 0;
        for (std::size_t i = 0; i < points(); ++i) {
            sum += mass_[i] * velocity_[i];
            sizes += std::fabs(mass_[i] * velocity_[i]);
        }
        return {sum, sizes};
    }

private:
    static constexpr std::size_t all_points = element_basis::all_points;

    struct block {
        std::array<std::size_t, 4> parts;          // of which it has points
        std::vector<std::uint32_t> points;         // of each element all_points
        std::vector<double> stiffness;             // of each element
        std::vector<double> values;                // of each element at its points
        std::vector<std::uint32_t> first_of_lines; // of points next to each other, line_length() each
    };

    // Of the points of a part: what tasks access.
    using datum = std::span<const double>;
    datum displacement(std::size_t part) const { return of_part(displacement_, part); }
    datum force(std::size_t part) const { return of_part(force_, part); }
    datum of_part(const std::vector<double>& values, std::size_t part) const {
        return datum(values).subspan(first_of_part_[part], first_of_part_[part + 1] - first_of_part_[part]);
    }

    void gather(block& b) const {
        touch_points(b, displacement_, weft::access::read);
        touch_all(b.points, weft::access::read);
        touch_all(b.values, weft::access::write);
        spend(b.points.size(), gather_cycles_per_point, [&] {
            for (std::size_t i = 0; i < b.points.size(); ++i) b.values[i] = displacement_[b.points[i]];
        });
    }

    void process(block& b) const {
        touch_all(b.values, weft::access::readwrite);
        spend(b.points.size(), process_cycles_per_point, [&] {
            for (std::size_t e = 0; e < b.stiffness.size(); ++e) {
                basis_.process(b.values.data() + e * all_points, b.stiffness[e]);
            }
        });
    }

    void scatter(const block& b, bool atomic) {
        touch_points(b, force_, atomic ? weft::access::atomic : weft::access::readwrite);
        touch_all(b.points, weft::access::read);
        touch_all(b.values, weft::access::read);
        spend(b.points.size(), atomic ? atomic_scatter_cycles_per_point : scatter_cycles_per_point,
              [&] { add_forces(b, atomic); });
    }
    void add_forces(const block& b, bool atomic) {
        for (std::size_t i = 0; i < b.points.size(); ++i) {
            double& to = force_[b.points[i]];
            if (atomic) {
                std::atomic_ref(to).fetch_add(b.values[i], std::memory_order_relaxed);
            } else {
                to += b.values[i];
            }
        }
    }

    // Velocities and displacements of a part's points after a time step; no forces yet for the next one.
    void advance(std::size_t part) {
        const std::size_t first = first_of_part_[part], last = first_of_part_[part + 1];
        weft::touch(&mass_[first], (last - first) * sizeof(double), weft::access::read);
        for (auto* numbers : {&force_, &velocity_, &displacement_}) {
            weft::touch(numbers->data() + first, (last - first) * sizeof(double), weft::access::readwrite);
        }
        spend(last - first, advance_cycles_per_point, [&] { move(first, last); });
    }
    void move(std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            velocity_[i] += time_step * force_[i] / mass_[i];
            displacement_[i] += time_step * velocity_[i];
            force_[i] = 0;
        }
    }

    template <class Value>
    static void touch_all(const std::vector<Value>& values, weft::access how) {
        weft::touch(values.data(), values.size() * sizeof(Value), how);
    }
    void touch_points(const block& b, const std::vector<double>& values, weft::access how) const {
        for (std::uint32_t first : b.first_of_lines) {
            weft::touch(&values[first], line_length() * sizeof(double), how);
        }
    }

    // ---- the mesh: lines of points along x, which make rows along y, which make layers along z

    std::size_t line_length() const { return element_basis::degree * elements_ + 1; }
    std::size_t lines() const { return line_length() * line_length(); }
    std::size_t parts() const { return parts_in_row_ * parts_in_row_; }
    // A part begins where a block does; the last ones have only the end of the box.
    std::size_t part_of_line(std::size_t y, std::size_t z) const {
        const std::size_t side = block_ * element_basis::degree;
        return z / side * parts_in_row_ + y / side;
    }

    // Part by part, so that each is in one piece.
    void number_points() {
        first_of_part_.resize(parts() + 1);
        first_of_line_.resize(lines());
        for (std::size_t line = 0; line < lines(); ++line) {
            first_of_part_[part_of_line(line % line_length(), line / line_length()) + 1] += line_length();
        }
        for (std::size_t p = 0; p < parts(); ++p) first_of_part_[p + 1] += first_of_part_[p];
        auto next = first_of_part_;
        for (std::size_t line = 0; line < lines(); ++line) {
            std::size_t& at = next[part_of_line(line % line_length(), line / line_length())];
            first_of_line_[line] = static_cast<std::uint32_t>(at);
            at += line_length();
        }
    }

    void make_blocks(std::uint64_t seed) {
        mass_.resize(lines() * line_length());
        for (std::size_t z = 0; z < elements_; z += block_) {
            for (std::size_t y = 0; y < elements_; y += block_) {
                const std::size_t part = z / block_ * parts_in_row_ + y / block_;
                block& b = blocks_.emplace_back();
                b.parts = {part, part + 1, part + parts_in_row_, part + parts_in_row_ + 1};
                const std::size_t y_end = std::min(y + block_, elements_),
                                  z_end = std::min(z + block_, elements_);
                for (std::size_t k = z; k < z_end; ++k) {
                    for (std::size_t j = y; j < y_end; ++j) {
                        for (std::size_t i = 0; i < elements_; ++i) add_element(b, i, j, k, seed);
                    }
                }
                b.values.resize(b.points.size());
                constexpr std::size_t degree = element_basis::degree;
                for (std::size_t k = z * degree; k <= z_end * degree; ++k) {
                    for (std::size_t j = y * degree; j <= y_end * degree; ++j) {
                        b.first_of_lines.push_back(first_of_line_[k * line_length() + j]);
                    }
                }
            }
        }
    }

    void add_element(block& b, std::size_t i, std::size_t j, std::size_t k, std::uint64_t seed) {
        constexpr std::size_t points = element_basis::points, degree = element_basis::degree;
        b.stiffness.push_back(1 + random_from_minus_1_to_1(seed, (k * elements_ + j) * elements_ + i) / 2);
        for (std::size_t z = 0; z < points; ++z) {
            for (std::size_t y = 0; y < points; ++y) {
                const std::size_t line = (k * degree + z) * line_length() + j * degree + y;
                for (std::size_t x = 0; x < points; ++x) {
                    const std::size_t point = first_of_line_[line] + i * degree + x;
                    b.points.push_back(static_cast<std::uint32_t>(point));
                    mass_[point] += basis_.mass(x, y, z);
                }
            }
        }
    }

    // A hill in the middle of the box, at rest.
    void start() {
        displacement_.resize(mass_.size());
        velocity_.resize(mass_.size());
        force_.resize(mass_.size());
        auto hill = [&](std::size_t point) {
            const double from_middle =
                (static_cast<double>(point) / static_cast<double>(line_length() - 1) - 0.5) * 8;
            return std::exp(-from_middle * from_middle);
        };
        for (std::size_t line = 0; line < lines(); ++line) {
            const double height = hill(line % line_length()) * hill(line / line_length());
            for (std::size_t x = 0; x < line_length(); ++x) {
                displacement_[first_of_line_[line] + x] = height * hill(x);
            }
        }
    }

    element_basis basis_;
    bool forces_are_one_datum_;
    weft::datum all_forces_;
    std::size_t elements_, block_, parts_in_row_;
    std::vector<std::size_t> first_of_part_;   // and where the last one ends
    std::vector<std::uint32_t> first_of_line_; // of points along x
    std::vector<block> blocks_;
    std::vector<double> mass_, displacement_, velocity_, force_; // of the points
};

} // namespace examples
